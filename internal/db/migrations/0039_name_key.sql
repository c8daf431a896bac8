-- The name by which two entries may be the same, folded by the program: see NameKey in
-- name_key.go. It fills in the keys of the entries that are there before the next migration, and
-- writes the phone numbers that have the code of a country as E.164 does.
ALTER TABLE directory_entry ADD COLUMN name_key TEXT;
