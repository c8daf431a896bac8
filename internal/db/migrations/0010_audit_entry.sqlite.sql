-- A row of the log held every value twice: in columns, and again in the text that is
-- sent. Now it holds them once, in a JSON array, beside what a list can be filtered by.
-- filter_key(property, workspace, value) is audit.FilterKey, and stored_entry(…) is
-- audit.AppendStored, so that an old row becomes what a new one would be.
CREATE TABLE audit_log_new (
    id                TEXT NOT NULL,
    workspace_id      TEXT,
    organization_id   TEXT,
    actor_id_key      BIGINT NOT NULL,
    action_key        BIGINT NOT NULL,
    resource_type_key BIGINT NOT NULL,
    resource_id_key   BIGINT NOT NULL,
    outcome_key       BIGINT, -- NULL for success, which nearly all rows tell of
    entry             TEXT NOT NULL
);

INSERT INTO audit_log_new
SELECT id, workspace_id, organization_id,
    filter_key('actor_id', workspace_id, actor_id),
    filter_key('action', workspace_id, action),
    filter_key('resource_type', workspace_id, resource_type),
    filter_key('resource_id', workspace_id, resource_id),
    CASE WHEN outcome <> 'success' THEN filter_key('outcome', workspace_id, outcome) END,
    stored_entry(action, actor_name, actor_email, description, outcome, at, actor_id, actor_type,
        resource_type, resource_id, request_id, ip)
FROM audit_log ORDER BY id;

DROP TABLE audit_log;
ALTER TABLE audit_log_new RENAME TO audit_log;

CREATE UNIQUE INDEX audit_log_workspace ON audit_log (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE UNIQUE INDEX audit_log_organization ON audit_log (organization_id, id) WHERE organization_id IS NOT NULL;
CREATE INDEX audit_log_actor ON audit_log (actor_id_key, id);
CREATE INDEX audit_log_action ON audit_log (action_key, id);
CREATE INDEX audit_log_resource_type ON audit_log (resource_type_key, id);
CREATE INDEX audit_log_resource ON audit_log (resource_id_key, id);
CREATE INDEX audit_log_outcome ON audit_log (outcome_key, id) WHERE outcome_key IS NOT NULL;

CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be changed'); END;

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be deleted'); END;

-- For people who look at the log with SQL.
CREATE VIEW audit_entry AS
SELECT id, workspace_id, organization_id, entry ->> 0 AS action, entry ->> 1 AS actor_name, entry ->> 2 AS actor_email,
    entry ->> 3 AS description, entry ->> 4 AS outcome, entry ->> 5 AS at, entry ->> 6 AS actor_id, entry ->> 7 AS actor_type,
    entry ->> 8 AS resource_type, entry ->> 9 AS resource_id, entry ->> 10 AS request_id, entry ->> 11 AS ip
FROM audit_log;
