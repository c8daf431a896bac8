-- Every row of the log gets a place, soon after it was committed: in the whole log, and in
-- its stream, which is the log of a workspace, of an organization, or of the operator.
-- Places count from 1 without gaps and never change, so that a reader who remembers the last
-- place that they have read misses nothing.
CREATE TABLE audit_stream (
    number           INTEGER PRIMARY KEY,
    workspace_number INTEGER UNIQUE,
    organization_id  TEXT UNIQUE, -- both are NULL for the operator's stream, number 0
    size             BIGINT NOT NULL
);
INSERT INTO audit_stream (number, size) VALUES (0, 0);

CREATE TABLE audit_place (
    seq      BIGINT NOT NULL, -- the place in the stream
    position BIGINT NOT NULL, -- the place in the whole log
    audit_id UUID NOT NULL,
    stream   INTEGER NOT NULL,
    PRIMARY KEY (stream, seq)
);
CREATE UNIQUE INDEX audit_place_id ON audit_place (audit_id);

-- The only row says how far the log has been sequenced. Whoever sequences compares and swaps
-- its size. sorts_as is what the rows are sorted by: see audit_log.xact.
CREATE TABLE audit_sequence (
    single       INTEGER PRIMARY KEY CHECK (single = 1),
    size         BIGINT NOT NULL,
    sorts_as     BIGINT NOT NULL,
    audit_id     UUID NOT NULL,
    lease_holder TEXT NOT NULL,
    lease_until  BIGINT NOT NULL,
    xact_offset  BIGINT NOT NULL -- what audit_log.xact is above the numbers of this server's transactions
);
INSERT INTO audit_sequence VALUES (1, 0, 0, '00000000-0000-0000-0000-000000000000', '', 0, 0);

-- Rows become visible in the order of their commits, which nothing in a row tells. But once
-- all transactions below a number have ended, no row with a lower number can appear any more,
-- so rows are sequenced in the order of their transactions, up to the oldest that still runs.
-- A number is kept as a bigint, since xid8 can only be turned into text, which sorts otherwise.
-- Rows from before this migration have 0.
ALTER TABLE audit_log ADD COLUMN xact BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit_log ALTER COLUMN xact SET DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX audit_log_xact ON audit_log (xact, id);

CREATE TRIGGER audit_place_keep BEFORE UPDATE OR DELETE ON audit_place
FOR EACH ROW EXECUTE FUNCTION audit_log_refuse();

CREATE TRIGGER audit_place_keep_all BEFORE TRUNCATE ON audit_place
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse();
