-- The id of an audit row tells whether a write has happened whose connection broke, so no two
-- rows may have the same. Rows of workspaces have a unique index already.
DROP INDEX audit_log_outside;
CREATE UNIQUE INDEX audit_log_outside ON audit_log (id) WHERE coalesce(workspace_number, 0) = 0;
