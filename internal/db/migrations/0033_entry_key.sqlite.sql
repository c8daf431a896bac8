-- What finds an entry that somebody has at hand: the id that another system gave it, its
-- e-mail address, or its phone number. An import asks by them whether a line is about an entry
-- that exists. The program sets them; match_key(kind, fields) is the same function.
ALTER TABLE directory_entry ADD COLUMN external_id TEXT;
ALTER TABLE directory_entry ADD COLUMN email_key TEXT;
ALTER TABLE directory_entry ADD COLUMN phone_key TEXT;
UPDATE directory_entry SET email_key = match_key('email', fields), phone_key = match_key('phone', fields);

CREATE UNIQUE INDEX directory_entry_external ON directory_entry (workspace_number, external_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_email ON directory_entry (workspace_number, email_key) WHERE email_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_phone ON directory_entry (workspace_number, phone_key) WHERE phone_key IS NOT NULL AND deleted_at IS NULL;
