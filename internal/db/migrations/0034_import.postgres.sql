-- An import of a file into a directory. Whoever works on it holds a lease, so that another node
-- takes over what a node that died has left; position is what was done, in the transaction that
-- did it.
CREATE TABLE directory_import (
    id               TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    workspace_id     TEXT COLLATE "C" NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    status           TEXT COLLATE "C" NOT NULL, -- uploading, queued, running, completed, failed, cancelled
    options          TEXT COLLATE "C" NOT NULL, -- JSON
    actor            TEXT COLLATE "C" NOT NULL, -- JSON: who asked, with what credential
    bytes            BIGINT NOT NULL,
    position         BIGINT NOT NULL, -- in bytes
    position_lines   BIGINT NOT NULL, -- that end before it
    lines            BIGINT NOT NULL,
    created          BIGINT NOT NULL,
    updated          BIGINT NOT NULL,
    unchanged        BIGINT NOT NULL,
    refused          BIGINT NOT NULL,
    reason           TEXT COLLATE "C" NOT NULL, -- why it failed
    node             TEXT COLLATE "C" NOT NULL, -- that works on it
    lease_until      BIGINT NOT NULL, -- of the node, or when it was queued
    created_at       BIGINT NOT NULL,
    started_at       BIGINT NOT NULL, -- 0 until then
    ended_at         BIGINT NOT NULL  -- 0 until then
);
CREATE INDEX directory_import_newest ON directory_import (workspace_number, id);
CREATE INDEX directory_import_open ON directory_import (workspace_number, id) WHERE ended_at = 0;
CREATE INDEX directory_import_due ON directory_import (lease_until, id) WHERE ended_at = 0;
CREATE INDEX directory_import_ended ON directory_import (ended_at) WHERE ended_at > 0;

-- The parts of an import: the file itself until the import ends, the lines that it refused, and
-- for a rehearsal what would become of each line. They can hold account numbers,
-- so they are sealed.
CREATE TABLE directory_import_chunk (
    import_id   TEXT COLLATE "C" NOT NULL REFERENCES directory_import (id) ON DELETE CASCADE,
    part        TEXT COLLATE "C" NOT NULL, -- file, refused, plan
    number      BIGINT NOT NULL,
    body_sealed BYTEA NOT NULL,
    sealed_by   BIGINT NOT NULL REFERENCES vault_key (id),
    PRIMARY KEY (import_id, part, number)
);
CREATE INDEX directory_import_chunk_key ON directory_import_chunk (sealed_by);
