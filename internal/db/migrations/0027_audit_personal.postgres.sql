-- What can be personal in a row of the log (names, addresses, the description, what was changed)
-- stands apart from what is kept for ever, so that it can be erased. salt keeps anybody from
-- guessing it by its digest; erased is that digest, once the rest is gone.
DROP VIEW audit_entry;
DROP TRIGGER audit_log_keep ON audit_log;
ALTER TABLE audit_log ADD COLUMN personal TEXT, ADD COLUMN salt UUID, ADD COLUMN erased BYTEA;
UPDATE audit_log SET
    personal = '[' || (entry::json -> 1)::text || ',' || (entry::json -> 2)::text || ',' || (entry::json -> 3)::text || ',' || (entry::json -> 11)::text || ']',
    salt = gen_random_uuid(),
    entry = '[' || (entry::json -> 0)::text || ',' || (entry::json -> 4)::text || ',' || (entry::json -> 5)::text || ',' || (entry::json -> 6)::text || ',' ||
        (entry::json -> 7)::text || ',' || (entry::json -> 8)::text || ',' || (entry::json -> 9)::text || ',' || (entry::json -> 10)::text || ']';

CREATE FUNCTION audit_log_keep_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - '{personal,salt,erased}'::text[] = to_jsonb(OLD) - '{personal,salt,erased}'::text[]
        AND OLD.erased IS NULL AND OLD.personal IS NOT NULL AND NEW.personal IS NULL AND NEW.salt IS NULL AND coalesce(length(NEW.erased), 0) = 32
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit rows cannot be changed, except that their personal part can be erased';
END $$;

CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_keep_row();

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();

-- For people who look at the log with SQL: ids are as the API spells them. A character
-- of an id has five bits.
CREATE VIEW audit_entry AS
SELECT (
        SELECT 'aud_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(b.bits FROM n FOR 5)::bit(5)::integer, 1), '' ORDER BY n)
        FROM (SELECT B'00' || ('x' || replace(a.id::text, '-', ''))::bit(128) AS bits) b, generate_series(1, 126, 5) n
    ) AS id, w.id AS workspace_id, a.organization_id,
    entry::json ->> 0 AS action, personal::json ->> 0 AS actor_name, personal::json ->> 1 AS actor_email,
    personal::json ->> 2 AS description, entry::json ->> 1 AS outcome, CAST(entry::json ->> 2 AS BIGINT) AS at, entry::json ->> 3 AS actor_id,
    entry::json ->> 4 AS actor_type, entry::json ->> 5 AS resource_type, entry::json ->> 6 AS resource_id,
    entry::json ->> 7 AS request_id, personal::json ->> 3 AS ip, personal::json -> 4 AS changes
FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number;
