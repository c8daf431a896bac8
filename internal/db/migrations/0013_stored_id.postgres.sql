-- Entries, their words and audit rows name their workspace by its number, and hold the
-- 16 bytes that an id stands for in place of its text: an entry takes a third less room.
-- Columns of a fixed width come first, so that none needs padding.
CREATE FUNCTION pg_temp.pack_id(prefix text, id text) RETURNS uuid LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    digits bytea := right(id, 26)::bytea;
    -- The five bits of each digit, from '0' to 'z'.
    bits CONSTANT bytea := '\x000102030405060708090000000000000000000000000000000000000000000000000000000000000000000000000000000a0b0c0d0e0f101100121300141500161718191a001b1c1d1e1f';
    high bigint := 0;
    low bigint := 0;
BEGIN
    -- engine.PackID
    IF id !~ ('^' || prefix || '_[0-7][0-9a-hjkmnp-tv-z]{25}$') THEN
        RETURN NULL;
    END IF;
    FOR i IN 0 .. 12 LOOP
        high := (high << 5) | get_byte(bits, get_byte(digits, i) - 48);
        low := (low << 5) | get_byte(bits, get_byte(digits, i + 13) - 48);
    END LOOP;
    high := (high << 1) | (get_byte(bits, get_byte(digits, 13) - 48) >> 4);
    RETURN lpad(to_hex(high), 16, '0') || lpad(to_hex(low), 16, '0');
END $$;

CREATE TABLE directory_entry_new (
    id               UUID NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    deleted_at       BIGINT,
    workspace_number INTEGER NOT NULL,
    label_sent       BOOLEAN NOT NULL,
    type             TEXT NOT NULL,
    label            TEXT NOT NULL,
    name             TEXT NOT NULL,
    status           TEXT NOT NULL,
    fields           TEXT NOT NULL,
    words            TEXT NOT NULL
);
INSERT INTO directory_entry_new
SELECT pg_temp.pack_id('entry', e.id), e.created_at, e.updated_at, e.deleted_at, w.number, e.label_sent, e.type, e.label, e.name, e.status, e.fields, e.words
FROM directory_entry e JOIN workspace w ON w.id = e.workspace_id ORDER BY e.id;

ALTER TABLE directory_entry_tag DROP CONSTRAINT directory_entry_tag_entry_id_fkey;
ALTER TABLE receiving_method DROP CONSTRAINT receiving_method_entry_id_fkey;
ALTER TABLE directory_entry_tag ALTER COLUMN entry_id TYPE UUID USING pg_temp.pack_id('entry', entry_id);
ALTER TABLE receiving_method ALTER COLUMN entry_id TYPE UUID USING pg_temp.pack_id('entry', entry_id);
DROP TABLE directory_entry;
ALTER TABLE directory_entry_new RENAME TO directory_entry;

-- As 0006 says, the index that keeps ids unique must not have the order of a page. A page has
-- the newest first, and in that order NULL comes before all else. Read from its end, this
-- index has NULL last: though there is none, PostgreSQL takes that for another order.
CREATE UNIQUE INDEX directory_entry_id ON directory_entry (id NULLS FIRST);
ALTER TABLE directory_entry REPLICA IDENTITY USING INDEX directory_entry_id;
ALTER TABLE directory_entry ADD CONSTRAINT directory_entry_workspace_number_fkey FOREIGN KEY (workspace_number) REFERENCES workspace (number);
ALTER TABLE directory_entry_tag ADD CONSTRAINT directory_entry_tag_entry_id_fkey
    FOREIGN KEY (entry_id) REFERENCES directory_entry (id) ON DELETE CASCADE;
ALTER TABLE receiving_method ADD CONSTRAINT receiving_method_entry_id_fkey
    FOREIGN KEY (entry_id) REFERENCES directory_entry (id) ON DELETE CASCADE;
CREATE INDEX directory_entry_newest ON directory_entry (workspace_number, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type ON directory_entry (workspace_number, type, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_status ON directory_entry (workspace_number, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type_status ON directory_entry (workspace_number, type, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_deleted ON directory_entry (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX directory_entry_bin ON directory_entry (workspace_number, id) WHERE deleted_at IS NOT NULL;

CREATE TABLE directory_word_new (
    entry_id         UUID NOT NULL,
    workspace_number INTEGER NOT NULL,
    word             TEXT NOT NULL
);
INSERT INTO directory_word_new
SELECT pg_temp.pack_id('entry', d.entry_id), w.number, d.word
FROM directory_word d JOIN workspace w ON w.id = d.workspace_id ORDER BY d.entry_id;
DROP TABLE directory_word;
ALTER TABLE directory_word_new RENAME TO directory_word;
ALTER TABLE directory_word ADD CONSTRAINT directory_word_pkey PRIMARY KEY (workspace_number, word, entry_id);

CREATE TABLE directory_common_word_new (
    workspace_number INTEGER NOT NULL,
    word             TEXT NOT NULL
);
INSERT INTO directory_common_word_new
SELECT w.number, d.word FROM directory_common_word d JOIN workspace w ON w.id = d.workspace_id;
DROP TABLE directory_common_word;
ALTER TABLE directory_common_word_new RENAME TO directory_common_word;
ALTER TABLE directory_common_word ADD CONSTRAINT directory_common_word_pkey PRIMARY KEY (workspace_number, word);

CREATE TABLE audit_log_new (
    id                UUID NOT NULL,
    actor_id_key      BIGINT NOT NULL,
    action_key        BIGINT NOT NULL,
    resource_type_key BIGINT NOT NULL,
    resource_id_key   BIGINT NOT NULL,
    outcome_key       BIGINT, -- NULL for success, which nearly all rows tell of
    workspace_number  INTEGER,
    organization_id   TEXT,
    entry             TEXT NOT NULL
);
INSERT INTO audit_log_new
SELECT pg_temp.pack_id('aud', a.id), a.actor_id_key, a.action_key, a.resource_type_key, a.resource_id_key, a.outcome_key, w.number, a.organization_id, a.entry
FROM audit_log a LEFT JOIN workspace w ON w.id = a.workspace_id ORDER BY a.id;
DROP VIEW audit_entry;
DROP TABLE audit_log;
ALTER TABLE audit_log_new RENAME TO audit_log;

-- There is no index that begins with the id: see 0010.
CREATE UNIQUE INDEX audit_log_workspace ON audit_log (workspace_number, id) WHERE workspace_number IS NOT NULL;
CREATE UNIQUE INDEX audit_log_organization ON audit_log (organization_id, id) WHERE organization_id IS NOT NULL;
CREATE INDEX audit_log_actor ON audit_log (actor_id_key, id);
CREATE INDEX audit_log_action ON audit_log (action_key, id);
CREATE INDEX audit_log_resource_type ON audit_log (resource_type_key, id);
CREATE INDEX audit_log_resource ON audit_log (resource_id_key, id);
CREATE INDEX audit_log_outcome ON audit_log (outcome_key, id) WHERE outcome_key IS NOT NULL;

CREATE TRIGGER audit_log_keep BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER audit_log_keep_all BEFORE TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();

-- For people who look at the log with SQL: ids are as the API spells them. A character of an
-- id has five bits.
CREATE VIEW audit_entry AS
SELECT (
        SELECT 'aud_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(b.bits FROM n FOR 5)::bit(5)::integer, 1), '' ORDER BY n)
        FROM (SELECT B'00' || ('x' || replace(a.id::text, '-', ''))::bit(128) AS bits) b, generate_series(1, 126, 5) n
    ) AS id, w.id AS workspace_id, a.organization_id,
    entry::json ->> 0 AS action, entry::json ->> 1 AS actor_name, entry::json ->> 2 AS actor_email,
    entry::json ->> 3 AS description, entry::json ->> 4 AS outcome, CAST(entry::json ->> 5 AS BIGINT) AS at, entry::json ->> 6 AS actor_id,
    entry::json ->> 7 AS actor_type, entry::json ->> 8 AS resource_type, entry::json ->> 9 AS resource_id,
    entry::json ->> 10 AS request_id, entry::json ->> 11 AS ip
FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number;
