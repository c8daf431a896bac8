-- What finds an account number by its last four digits: see vault.Tail. It is empty for a number
-- that has none, and NULL in a row of before, which the next start fills in.
ALTER TABLE receiving_method ADD COLUMN tail_key {bytes};
CREATE INDEX receiving_method_tail ON receiving_method (tail_key, entry_id);
