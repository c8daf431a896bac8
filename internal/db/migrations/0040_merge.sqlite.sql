-- What a workspace does with an entry that may be a double of another: allow, warn or refuse.
ALTER TABLE workspace ADD COLUMN on_duplicate TEXT NOT NULL DEFAULT 'allow';

CREATE INDEX directory_entry_name ON directory_entry (workspace_number, name_key) WHERE name_key IS NOT NULL AND deleted_at IS NULL;

-- The entry that an entry was merged into. Such an entry is hidden as a deleted one is, but stays
-- readable under its id, and is neither restored nor purged as one.
ALTER TABLE directory_entry ADD COLUMN merged_into BLOB;
CREATE INDEX directory_entry_merged ON directory_entry (merged_into) WHERE merged_into IS NOT NULL;
DROP INDEX directory_entry_deleted;
DROP INDEX directory_entry_bin;
CREATE INDEX directory_entry_deleted ON directory_entry (deleted_at) WHERE deleted_at IS NOT NULL AND merged_into IS NULL;
CREATE INDEX directory_entry_bin ON directory_entry (workspace_number, id) WHERE deleted_at IS NOT NULL AND merged_into IS NULL;

-- A merge of entries into one. While it can be undone, the state is what they all were before,
-- and the one after; it holds account numbers, so it is sealed.
CREATE TABLE directory_merge (
    id               TEXT PRIMARY KEY NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    target_id        BLOB NOT NULL,
    sources          TEXT NOT NULL, -- JSON: their ids
    created_at       BIGINT NOT NULL,
    undone_at        BIGINT NOT NULL, -- 0 until then
    state_sealed     BLOB, -- NULL as soon as it cannot be undone any more
    sealed_by        BIGINT REFERENCES vault_key (id)
);
CREATE INDEX directory_merge_newest ON directory_merge (workspace_number, id);
CREATE INDEX directory_merge_target ON directory_merge (target_id, id);
CREATE INDEX directory_merge_undoable ON directory_merge (created_at) WHERE sealed_by IS NOT NULL;
CREATE INDEX directory_merge_key ON directory_merge (sealed_by);
