-- What can be personal in a row of the log (names, addresses, the description, what was changed)
-- stands apart from what is kept for ever, so that it can be erased. salt keeps anybody from
-- guessing it by its digest; erased is that digest, once the rest is gone.
DROP VIEW audit_entry;
DROP TRIGGER audit_log_keep_update;
ALTER TABLE audit_log ADD COLUMN personal TEXT;
ALTER TABLE audit_log ADD COLUMN salt BLOB; -- 16 bytes
ALTER TABLE audit_log ADD COLUMN erased BLOB; -- 32 bytes
UPDATE audit_log SET
    personal = '[' || (entry -> 1) || ',' || (entry -> 2) || ',' || (entry -> 3) || ',' || (entry -> 11) || ']',
    salt = randomblob(16),
    entry = '[' || (entry -> 0) || ',' || (entry -> 4) || ',' || (entry -> 5) || ',' || (entry -> 6) || ',' || (entry -> 7) || ',' ||
        (entry -> 8) || ',' || (entry -> 9) || ',' || (entry -> 10) || ']';

CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
WHEN NOT (NEW.rowid = OLD.rowid AND NEW.id = OLD.id AND NEW.workspace_number IS OLD.workspace_number AND NEW.organization_id IS OLD.organization_id
    AND NEW.actor_id_key = OLD.actor_id_key AND NEW.action_key = OLD.action_key AND NEW.resource_type_key = OLD.resource_type_key
    AND NEW.resource_id_key = OLD.resource_id_key AND NEW.outcome_key IS OLD.outcome_key AND NEW.entry = OLD.entry
    AND OLD.erased IS NULL AND OLD.personal IS NOT NULL AND NEW.personal IS NULL AND NEW.salt IS NULL AND coalesce(length(NEW.erased), 0) = 32)
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be changed, except that their personal part can be erased'); END;

-- For people who look at the log with SQL: ids are as the API spells them. A character
-- of an id has five bits, which are in two digits of the hexadecimal number.
CREATE VIEW audit_entry AS
SELECT (
        WITH place (n) AS (SELECT 25 UNION ALL SELECT n - 1 FROM place WHERE n > 0)
        SELECT 'aud_' || group_concat(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((
                instr('123456789ABCDEF', substr('0' || hex(a.id), 33 - n * 5 / 4, 1)) +
                instr('123456789ABCDEF', substr('0' || hex(a.id), 32 - n * 5 / 4, 1)) * 16) >> (n * 5 % 4) & 31), 1), '')
        FROM place
    ) AS id, w.id AS workspace_id, a.organization_id,
    entry ->> 0 AS action, personal ->> 0 AS actor_name, personal ->> 1 AS actor_email,
    personal ->> 2 AS description, entry ->> 1 AS outcome, entry ->> 2 AS at, entry ->> 3 AS actor_id, entry ->> 4 AS actor_type,
    entry ->> 5 AS resource_type, entry ->> 6 AS resource_id, entry ->> 7 AS request_id, personal ->> 3 AS ip, personal -> 4 AS changes
FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number;
