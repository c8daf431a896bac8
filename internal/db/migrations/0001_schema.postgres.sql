-- The part of the schema that only PostgreSQL has, applied after 0001_schema.sql. Columns of a fixed width come first, so that
-- none needs padding.

ALTER TABLE directory_entry REPLICA IDENTITY USING INDEX directory_entry_id;

-- The words by which a search finds live entries. Deleted entries have none, so they cost
-- a search nothing.
CREATE TABLE directory_word (
    entry_id         UUID NOT NULL,
    workspace_number INTEGER NOT NULL,
    word             TEXT NOT NULL,
    PRIMARY KEY (workspace_number, word, entry_id)
);

-- The rows of the audit log, of a workspace, of an organization, or of the actor alone. They have no foreign keys, because they
-- outlive the things that they are about. Personal values (names, addresses, the description, what was changed) are separate
-- from permanent ones, so that they can be erased. A list can be filtered by the keys: see audit.FilterKey.
CREATE TABLE audit_log (
    id                UUID NOT NULL,
    actor_id_key      BIGINT NOT NULL,
    action_key        BIGINT NOT NULL,
    resource_type_key BIGINT NOT NULL,
    resource_id_key   BIGINT NOT NULL,
    outcome_key       BIGINT, -- NULL for success, which nearly all rows have
    -- Rows become visible in the order of their commits, which no column of a row records. But once all transactions below a number
    -- have ended, no row with a lower number can appear. So rows are sequenced in the order of their transactions, up to the oldest
    -- one still running. The number is stored as a bigint, since xid8 can only be converted to text, which sorts differently.
    xact              BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    workspace_number  INTEGER,
    key_id            UUID,          -- the API key that the session of the caller depended on; not covered by the tree of the log
    salt              UUID,          -- keeps anyone from guessing personal by its digest
    organization_id   TEXT,
    entry             TEXT NOT NULL, -- JSON: see the view audit_entry
    personal          TEXT,          -- JSON, NULL once it is erased
    erased            BYTEA          -- the digest of personal, of 32 bytes, once that is erased
);
-- No index begins with the id: see directory_entry_id.
CREATE UNIQUE INDEX audit_log_workspace ON audit_log (workspace_number, id) WHERE workspace_number IS NOT NULL;
CREATE UNIQUE INDEX audit_log_organization ON audit_log (organization_id, id) WHERE organization_id IS NOT NULL;
-- Rows that belong to no workspace, such as failed logins of accounts that do not exist. No other query spells the condition
-- this way. Queries for an actor or an organization have better indexes, but PostgreSQL would estimate this one as cheaper.
CREATE UNIQUE INDEX audit_log_outside ON audit_log (id) WHERE coalesce(workspace_number, 0) = 0;
CREATE INDEX audit_log_actor ON audit_log (actor_id_key, id);
CREATE INDEX audit_log_action ON audit_log (action_key, id);
CREATE INDEX audit_log_resource_type ON audit_log (resource_type_key, id);
CREATE INDEX audit_log_resource ON audit_log (resource_id_key, id);
CREATE INDEX audit_log_outcome ON audit_log (outcome_key, id) WHERE outcome_key IS NOT NULL;
CREATE INDEX audit_log_xact ON audit_log (xact, id);

-- The only row records how far the log has been sequenced. A sequencer compares and swaps its size.
CREATE TABLE audit_sequence (
    single       INTEGER PRIMARY KEY CHECK (single = 1),
    size         BIGINT NOT NULL,
    sorts_as     BIGINT NOT NULL, -- what the rows are sorted by: see audit_log.xact
    audit_id     UUID NOT NULL,
    lease_holder TEXT NOT NULL,
    lease_until  BIGINT NOT NULL,
    xact_offset  BIGINT NOT NULL  -- the offset between audit_log.xact and the transaction numbers of this server
);
INSERT INTO audit_sequence (single, size, sorts_as, audit_id, lease_holder, lease_until, xact_offset)
VALUES (1, 0, 0, '00000000-0000-0000-0000-000000000000', '', 0, 0);

-- Hashes cannot be compressed.
ALTER TABLE audit_tile ALTER COLUMN hashes SET STORAGE EXTERNAL;

CREATE FUNCTION audit_log_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit rows cannot be changed or deleted';
END $$;

CREATE FUNCTION audit_log_keep_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - '{personal,salt,erased}'::text[] = to_jsonb(OLD) - '{personal,salt,erased}'::text[]
        AND OLD.erased IS NULL AND OLD.personal IS NOT NULL
        AND NEW.personal IS NULL AND NEW.salt IS NULL AND coalesce(length(NEW.erased), 0) = 32
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit rows cannot be changed, except that their personal part can be erased';
END $$;

CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_keep_row();

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER audit_log_keep_all BEFORE TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER audit_place_keep BEFORE UPDATE OR DELETE ON audit_place
FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER audit_place_keep_all BEFORE TRUNCATE ON audit_place
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();

-- For people who query the log with SQL: ids are spelled as in the API. A character of an id has five bits.
CREATE VIEW audit_entry AS
SELECT (
        SELECT 'aud_' ||
            string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(b.bits FROM n FOR 5)::bit(5)::integer, 1), '' ORDER BY n)
        FROM (SELECT B'00' || ('x' || replace(a.id::text, '-', ''))::bit(128) AS bits) b, generate_series(1, 126, 5) n
    ) AS id, w.id AS workspace_id, a.organization_id,
    entry::json ->> 0 AS action, personal::json ->> 0 AS actor_name, personal::json ->> 1 AS actor_email,
    personal::json ->> 2 AS description, entry::json ->> 1 AS outcome, CAST(entry::json ->> 2 AS BIGINT) AS at,
    entry::json ->> 3 AS actor_id, entry::json ->> 4 AS actor_type, entry::json ->> 5 AS resource_type, entry::json ->> 6 AS resource_id,
    entry::json ->> 7 AS request_id, personal::json ->> 3 AS ip, personal::json -> 4 AS changes
FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number;

CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what % has cannot be changed or deleted', TG_TABLE_NAME;
END $$;

CREATE TRIGGER ledger_transaction_keep BEFORE UPDATE OR DELETE ON ledger_transaction
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_transaction_keep_all BEFORE TRUNCATE ON ledger_transaction
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_posting_keep BEFORE UPDATE OR DELETE ON ledger_posting
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_posting_keep_all BEFORE TRUNCATE ON ledger_posting
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_update BEFORE UPDATE OF id, workspace_id, kind, currency, mode, created_at ON ledger_account
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_delete BEFORE DELETE ON ledger_account
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_all BEFORE TRUNCATE ON ledger_account
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
