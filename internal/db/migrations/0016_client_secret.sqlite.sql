-- Who was shown the present secret of a machine client: who made it or gave it a new one
-- last. When they leave, the secret should change. The audit log knows it of clients from
-- before; it is NULL where an operator made the client.
ALTER TABLE account ADD COLUMN secret_seen_by TEXT;

UPDATE account SET secret_seen_by = (
    SELECT p.id FROM workspace_member m
    JOIN audit_log l ON l.resource_id_key = filter_key('resource_id', m.workspace_id, account.id)
    JOIN account p ON p.id = l.entry ->> 6
    WHERE m.account_id = account.id AND l.entry ->> 0 IN ('auth.client.created', 'auth.client.rotated')
        AND l.entry ->> 4 = 'success' AND l.entry ->> 9 = account.id
    ORDER BY l.id DESC LIMIT 1)
WHERE kind = 'client';
