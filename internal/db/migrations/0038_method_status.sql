-- A receiving method can be paid when it is active and payable_at has come. replaces is the
-- method that it then retires. Which one is the default is told by a time as well, so that
-- nothing has to run at that moment: it is the payable one with the greatest default_since that
-- has come. settled says that the log tells that the method can be paid. What exists stays as it is.
ALTER TABLE receiving_method ADD COLUMN status TEXT NOT NULL DEFAULT 'active';
ALTER TABLE receiving_method ADD COLUMN institution_code TEXT NOT NULL DEFAULT '';
ALTER TABLE receiving_method ADD COLUMN replaces TEXT;
ALTER TABLE receiving_method ADD COLUMN payable_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE receiving_method ADD COLUMN default_since BIGINT;
ALTER TABLE receiving_method ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE receiving_method ADD COLUMN settled BOOLEAN NOT NULL DEFAULT TRUE;
UPDATE receiving_method SET default_since = created_at WHERE is_default = TRUE;
DROP INDEX receiving_method_default;
ALTER TABLE receiving_method DROP COLUMN is_default;
CREATE INDEX receiving_method_cooling ON receiving_method (payable_at) WHERE settled = FALSE;
