-- The part of the schema that only SQLite has, applied after 0001_schema.sql.

-- The words by which a search finds live entries. Deleted entries have none, so they cost a search nothing. A refused
-- row fails its transaction, which is rolled back as a whole. With FAIL, SQLite need not prepare to undo the single
-- statement, for which it would copy every page.
CREATE TABLE directory_word (
    workspace_number INTEGER NOT NULL ON CONFLICT FAIL,
    word             TEXT NOT NULL ON CONFLICT FAIL,
    entry_id         BLOB NOT NULL ON CONFLICT FAIL,
    PRIMARY KEY (workspace_number, word, entry_id) ON CONFLICT FAIL
) WITHOUT ROWID;

-- The rows of the audit log, of a workspace, of an organization, or of the actor alone. They have no foreign keys, because they
-- outlive the things that they are about. Personal values (names, addresses, the description, what was changed) are separate
-- from permanent ones, so that they can be erased. A list can be filtered by the keys: see audit.FilterKey.
CREATE TABLE audit_log (
    id                BLOB NOT NULL,
    workspace_number  INTEGER,
    organization_id   TEXT,
    key_id            BLOB,          -- the API key that the session of the caller depended on; not covered by the tree of the log
    actor_id_key      BIGINT NOT NULL,
    action_key        BIGINT NOT NULL,
    resource_type_key BIGINT NOT NULL,
    resource_id_key   BIGINT NOT NULL,
    outcome_key       BIGINT,        -- NULL for success, which nearly all rows have
    entry             TEXT NOT NULL, -- JSON: see the view audit_entry
    personal          TEXT,          -- JSON, NULL once it is erased
    salt              BLOB,          -- 16 bytes that keep anyone from guessing personal by its digest
    erased            BLOB           -- that digest of 32 bytes, once personal is erased
);
CREATE UNIQUE INDEX audit_log_workspace ON audit_log (workspace_number, id) WHERE workspace_number IS NOT NULL;
CREATE UNIQUE INDEX audit_log_organization ON audit_log (organization_id, id) WHERE organization_id IS NOT NULL;
-- Rows that belong to no workspace, such as failed logins of accounts that do not exist. No other query spells the condition
-- this way. Queries for an actor or an organization have better indexes, but SQLite would estimate this one as cheaper.
CREATE UNIQUE INDEX audit_log_outside ON audit_log (id) WHERE coalesce(workspace_number, 0) = 0;
CREATE INDEX audit_log_actor ON audit_log (actor_id_key, id);
CREATE INDEX audit_log_action ON audit_log (action_key, id);
CREATE INDEX audit_log_resource_type ON audit_log (resource_type_key, id);
CREATE INDEX audit_log_resource ON audit_log (resource_id_key, id);
CREATE INDEX audit_log_outcome ON audit_log (outcome_key, id) WHERE outcome_key IS NOT NULL;

-- The only row records how far the log has been sequenced. A sequencer compares and swaps its size.
CREATE TABLE audit_sequence (
    single       INTEGER PRIMARY KEY CHECK (single = 1),
    size         BIGINT NOT NULL,
    sorts_as     BIGINT NOT NULL, -- what the rows are sorted by: their rowid, which grows with each commit
    audit_id     BLOB NOT NULL,
    lease_holder TEXT NOT NULL,
    lease_until  BIGINT NOT NULL
);
INSERT INTO audit_sequence (single, size, sorts_as, audit_id, lease_holder, lease_until)
VALUES (1, 0, 0, x'00000000000000000000000000000000', '', 0);

-- REPLACE deletes the old row and fires the delete triggers, because the connections enable recursive_triggers. An insert
-- trigger would make SQLite keep a copy of every page that a new row of the log touches.
CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
WHEN NOT (NEW.rowid = OLD.rowid AND NEW.id = OLD.id AND NEW.workspace_number IS OLD.workspace_number
    AND NEW.organization_id IS OLD.organization_id AND NEW.actor_id_key = OLD.actor_id_key AND NEW.action_key = OLD.action_key
    AND NEW.resource_type_key = OLD.resource_type_key AND NEW.resource_id_key = OLD.resource_id_key
    AND NEW.outcome_key IS OLD.outcome_key AND NEW.entry = OLD.entry AND NEW.key_id IS OLD.key_id AND OLD.erased IS NULL AND OLD.personal IS NOT NULL
    AND NEW.personal IS NULL AND NEW.salt IS NULL AND coalesce(length(NEW.erased), 0) = 32)
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be changed, except that their personal part can be erased'); END;

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be deleted'); END;

CREATE TRIGGER audit_place_keep_update BEFORE UPDATE ON audit_place
BEGIN SELECT RAISE(ABORT, 'places in the audit log cannot be changed'); END;

CREATE TRIGGER audit_place_keep_delete BEFORE DELETE ON audit_place
BEGIN SELECT RAISE(ABORT, 'places in the audit log cannot be deleted'); END;

-- For people who query the log with SQL: ids are spelled as in the API. A character of an id has five bits, which are in two
-- digits of the hexadecimal number.
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

CREATE TRIGGER ledger_transaction_keep_update BEFORE UPDATE ON ledger_transaction
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be changed'); END;

CREATE TRIGGER ledger_transaction_keep_delete BEFORE DELETE ON ledger_transaction
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be deleted'); END;

CREATE TRIGGER ledger_transaction_keep_replace BEFORE INSERT ON ledger_transaction
WHEN EXISTS (SELECT 1 FROM ledger_transaction WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be replaced'); END;

CREATE TRIGGER ledger_posting_keep_update BEFORE UPDATE ON ledger_posting
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be changed'); END;

CREATE TRIGGER ledger_posting_keep_delete BEFORE DELETE ON ledger_posting
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be deleted'); END;

CREATE TRIGGER ledger_posting_keep_replace BEFORE INSERT ON ledger_posting
WHEN EXISTS (SELECT 1 FROM ledger_posting WHERE account_id = NEW.account_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be replaced'); END;

CREATE TRIGGER ledger_account_keep_update BEFORE UPDATE OF id, workspace_id, kind, currency, mode, created_at ON ledger_account
BEGIN SELECT RAISE(ABORT, 'whose an account is, its currency and its mode cannot be changed'); END;

CREATE TRIGGER ledger_account_keep_delete BEFORE DELETE ON ledger_account
BEGIN SELECT RAISE(ABORT, 'accounts cannot be deleted'); END;
