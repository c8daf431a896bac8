-- Entries, their words and audit rows name their workspace by its number, and hold the
-- 16 bytes that an id stands for in place of its text: an entry takes a third less room.
-- pack_id(prefix, id) is engine.PackID, which the program packs ids with.
--
-- A table that others refer to is made anew together with them. They are dropped before
-- it, since dropping a table deletes what refers to it.
CREATE TABLE directory_entry_new (
    id               BLOB PRIMARY KEY NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    type             TEXT NOT NULL,
    label            TEXT NOT NULL,
    label_sent       BOOLEAN NOT NULL,
    name             TEXT NOT NULL,
    status           TEXT NOT NULL,
    fields           TEXT NOT NULL,
    words            TEXT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    deleted_at       BIGINT
);
INSERT INTO directory_entry_new
SELECT pack_id('entry', id), (SELECT number FROM workspace w WHERE w.id = workspace_id), type, label, label_sent, name, status, fields, words,
    created_at, updated_at, deleted_at
FROM directory_entry ORDER BY id;

CREATE TABLE directory_entry_tag_new (
    entry_id BLOB NOT NULL REFERENCES directory_entry_new (id) ON DELETE CASCADE,
    tag_id   TEXT NOT NULL REFERENCES directory_tag (id) ON DELETE CASCADE,
    live     BOOLEAN NOT NULL,
    PRIMARY KEY (entry_id, tag_id)
) WITHOUT ROWID;
INSERT INTO directory_entry_tag_new SELECT pack_id('entry', entry_id), tag_id, live FROM directory_entry_tag ORDER BY entry_id, tag_id;

CREATE TABLE receiving_method_new (
    id           TEXT PRIMARY KEY,
    entry_id     BLOB NOT NULL REFERENCES directory_entry_new (id) ON DELETE CASCADE,
    provider     TEXT NOT NULL,
    account_name TEXT NOT NULL,
    account_id   TEXT NOT NULL,
    is_default   BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL
);
INSERT INTO receiving_method_new
SELECT id, pack_id('entry', entry_id), provider, account_name, account_id, is_default, created_at FROM receiving_method ORDER BY id;

DROP TABLE receiving_method;
DROP TABLE directory_entry_tag;
DROP TABLE directory_entry;
ALTER TABLE directory_entry_new RENAME TO directory_entry;
ALTER TABLE directory_entry_tag_new RENAME TO directory_entry_tag;
ALTER TABLE receiving_method_new RENAME TO receiving_method;

CREATE INDEX directory_entry_newest ON directory_entry (workspace_number, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type ON directory_entry (workspace_number, type, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_status ON directory_entry (workspace_number, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type_status ON directory_entry (workspace_number, type, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_deleted ON directory_entry (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX directory_entry_bin ON directory_entry (workspace_number, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX directory_entry_tag_newest ON directory_entry_tag (tag_id, live, entry_id);
CREATE INDEX receiving_method_entry ON receiving_method (entry_id, id);
CREATE UNIQUE INDEX receiving_method_default ON receiving_method (entry_id) WHERE is_default;

-- For ON CONFLICT FAIL see 0009. Numbers were given in the order of the ids.
CREATE TABLE directory_word_new (
    workspace_number INTEGER NOT NULL ON CONFLICT FAIL,
    word             TEXT NOT NULL ON CONFLICT FAIL,
    entry_id         BLOB NOT NULL ON CONFLICT FAIL,
    PRIMARY KEY (workspace_number, word, entry_id) ON CONFLICT FAIL
) WITHOUT ROWID;
INSERT INTO directory_word_new
SELECT (SELECT number FROM workspace w WHERE w.id = workspace_id), word, pack_id('entry', entry_id)
FROM directory_word ORDER BY workspace_id, word, entry_id;
DROP TABLE directory_word;
ALTER TABLE directory_word_new RENAME TO directory_word;

CREATE TABLE directory_common_word_new (
    workspace_number INTEGER NOT NULL,
    word             TEXT NOT NULL,
    PRIMARY KEY (workspace_number, word)
) WITHOUT ROWID;
INSERT INTO directory_common_word_new
SELECT (SELECT number FROM workspace w WHERE w.id = workspace_id), word FROM directory_common_word ORDER BY workspace_id, word;
DROP TABLE directory_common_word;
ALTER TABLE directory_common_word_new RENAME TO directory_common_word;

DROP VIEW audit_entry;
DROP TRIGGER audit_log_keep_update;
DROP TRIGGER audit_log_keep_delete;
CREATE TABLE audit_log_new (
    id                BLOB NOT NULL,
    workspace_number  INTEGER,
    organization_id   TEXT,
    actor_id_key      BIGINT NOT NULL,
    action_key        BIGINT NOT NULL,
    resource_type_key BIGINT NOT NULL,
    resource_id_key   BIGINT NOT NULL,
    outcome_key       BIGINT, -- NULL for success, which nearly all rows tell of
    entry             TEXT NOT NULL
);
INSERT INTO audit_log_new
SELECT pack_id('aud', id), (SELECT number FROM workspace w WHERE w.id = workspace_id), organization_id,
    actor_id_key, action_key, resource_type_key, resource_id_key, outcome_key, entry
FROM audit_log ORDER BY rowid;
DROP TABLE audit_log;
ALTER TABLE audit_log_new RENAME TO audit_log;

CREATE UNIQUE INDEX audit_log_workspace ON audit_log (workspace_number, id) WHERE workspace_number IS NOT NULL;
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
    entry ->> 0 AS action, entry ->> 1 AS actor_name, entry ->> 2 AS actor_email,
    entry ->> 3 AS description, entry ->> 4 AS outcome, entry ->> 5 AS at, entry ->> 6 AS actor_id, entry ->> 7 AS actor_type,
    entry ->> 8 AS resource_type, entry ->> 9 AS resource_id, entry ->> 10 AS request_id, entry ->> 11 AS ip
FROM audit_log a LEFT JOIN workspace w ON w.number = a.workspace_number;
