-- One index for each order of the directory. They begin with type and status, of which there
-- are few: a list that is not filtered by them is put together from those that are.
CREATE INDEX directory_entry_label ON directory_entry (workspace_number, type, status, label_key, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_updated ON directory_entry (workspace_number, type, status, updated_at, id) WHERE deleted_at IS NULL;
