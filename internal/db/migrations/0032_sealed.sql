-- Account numbers, secrets of authenticator apps and keys that sign are sealed from now on. What
-- the store has in clear goes to vault_unsealed, and the note makes the start that has sealed it
-- write the files anew, because they still have the old bytes.
INSERT INTO vault_unsealed (kind, id, workspace_number, value)
SELECT 'receiving_method', m.id, e.workspace_number, m.account_id FROM receiving_method m JOIN directory_entry e ON e.id = m.entry_id;
INSERT INTO vault_unsealed (kind, id, workspace_number, value) SELECT 'totp', account_id, 0, secret FROM totp;
INSERT INTO vault_unsealed (kind, id, workspace_number, value) SELECT 'signing_key', id, 0, seed FROM signing_key;
INSERT INTO vault_unsealed (kind, id, workspace_number, value) SELECT 'vault_secret', name, 0, value FROM setting WHERE name = 'cursor_key';
INSERT INTO vault_secret (name) SELECT name FROM setting WHERE name = 'cursor_key';
DELETE FROM setting WHERE name = 'cursor_key';
INSERT INTO setting (name, value) SELECT 'vault_vacuum', 'wanted' WHERE EXISTS (SELECT 1 FROM vault_unsealed);

ALTER TABLE receiving_method DROP COLUMN account_id;
ALTER TABLE receiving_method ADD COLUMN account_sealed {bytes};
ALTER TABLE receiving_method ADD COLUMN account_key {bytes}; -- finds equal numbers: see vault.Lookups
ALTER TABLE receiving_method ADD COLUMN sealed_by BIGINT REFERENCES vault_key (id);
CREATE INDEX receiving_method_account ON receiving_method (account_key);
CREATE INDEX receiving_method_key ON receiving_method (sealed_by, id);
ALTER TABLE totp DROP COLUMN secret;
ALTER TABLE totp ADD COLUMN secret_sealed {bytes};
ALTER TABLE totp ADD COLUMN sealed_by BIGINT REFERENCES vault_key (id);
CREATE INDEX totp_key ON totp (sealed_by, account_id);
ALTER TABLE signing_key DROP COLUMN seed;
ALTER TABLE signing_key ADD COLUMN seed_sealed {bytes};
ALTER TABLE signing_key ADD COLUMN sealed_by BIGINT REFERENCES vault_key (id);
CREATE INDEX signing_key_key ON signing_key (sealed_by, id);
