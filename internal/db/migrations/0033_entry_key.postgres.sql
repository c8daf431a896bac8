-- What finds an entry that somebody has at hand: the id that another system gave it, its
-- e-mail address, or its phone number. An import asks by them whether a line is about an entry
-- that exists. The program sets them as package engine says.
ALTER TABLE directory_entry ADD COLUMN external_id TEXT COLLATE "C";
ALTER TABLE directory_entry ADD COLUMN email_key TEXT COLLATE "C";
ALTER TABLE directory_entry ADD COLUMN phone_key TEXT COLLATE "C";
-- A text with the character 0 cannot be taken out of JSON, and is nobody's address.
UPDATE directory_entry SET
    email_key = nullif(lower(btrim(fields::json ->> 'email')), ''),
    phone_key = nullif(regexp_replace(fields::json ->> 'phone', '[^0-9+]', '', 'g'), '')
WHERE strpos(fields, '\u0000') = 0 AND json_typeof(coalesce(fields::json -> 'email', '""')) = 'string'
    AND json_typeof(coalesce(fields::json -> 'phone', '""')) = 'string';

CREATE UNIQUE INDEX directory_entry_external ON directory_entry (workspace_number, external_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_email ON directory_entry (workspace_number, email_key) WHERE email_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_phone ON directory_entry (workspace_number, phone_key) WHERE phone_key IS NOT NULL AND deleted_at IS NULL;
