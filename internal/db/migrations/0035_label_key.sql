-- What entries are sorted by where people look for a name: the key of the label in the root order
-- of the Unicode Collation Algorithm, which the program computes: see labelKeys in label_key.go. It fills in
-- the keys of the entries that are there before the next migration.
ALTER TABLE directory_entry ADD COLUMN label_key {bytes};
