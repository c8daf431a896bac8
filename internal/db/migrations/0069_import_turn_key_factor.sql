-- Whose turn it was last: the import of each organization that was claimed last, and when. Organizations take turns at the slots of
-- all nodes and have one slot at a time, so the row is locked while an import of its organization is claimed.
CREATE TABLE directory_import_turn (
    organization_id TEXT PRIMARY KEY,
    import_id       TEXT NOT NULL,
    taken_at        BIGINT NOT NULL
);
-- A key that was made without a second factor while an organization of its owner demanded one. It is of no use in organizations that do.
ALTER TABLE api_key ADD COLUMN one_factor BOOLEAN NOT NULL DEFAULT FALSE;
