-- Authenticates this row and the newest head with the key that signs the log: whoever can
-- change the store and does not have the key cannot make a tree that servers go on with.
ALTER TABLE audit_tree ADD COLUMN mac TEXT NOT NULL DEFAULT '';
