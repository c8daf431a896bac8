-- The operator reads what belongs to no workspace, such as failed logins of accounts that
-- do not exist. The condition is spelled as no other query spells it: those of an actor
-- or an organization have better indexes, and would take this one for cheaper.
CREATE INDEX audit_log_outside ON audit_log (id) WHERE coalesce(workspace_number, 0) = 0;
