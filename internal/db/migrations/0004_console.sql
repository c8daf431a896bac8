-- The bin of a workspace: what was deleted and can still be restored.
CREATE INDEX directory_entry_bin ON directory_entry (workspace_id, id) WHERE deleted_at IS NOT NULL;
