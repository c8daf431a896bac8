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
    stream   INTEGER NOT NULL,
    seq      BIGINT NOT NULL, -- the place in the stream
    audit_id BLOB NOT NULL,
    position BIGINT NOT NULL, -- the place in the whole log
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX audit_place_id ON audit_place (audit_id);

-- The only row says how far the log has been sequenced. Whoever sequences compares and swaps
-- its size. sorts_as is what the rows are sorted by: on SQLite their rowid, which grows with each
-- commit.
CREATE TABLE audit_sequence (
    single       INTEGER PRIMARY KEY CHECK (single = 1),
    size         BIGINT NOT NULL,
    sorts_as     BIGINT NOT NULL,
    audit_id     BLOB NOT NULL,
    lease_holder TEXT NOT NULL,
    lease_until  BIGINT NOT NULL
);
INSERT INTO audit_sequence VALUES (1, 0, 0, x'00000000000000000000000000000000', '', 0);

CREATE TRIGGER audit_place_keep_update BEFORE UPDATE ON audit_place
BEGIN SELECT RAISE(ABORT, 'places in the audit log cannot be changed'); END;

CREATE TRIGGER audit_place_keep_delete BEFORE DELETE ON audit_place
BEGIN SELECT RAISE(ABORT, 'places in the audit log cannot be deleted'); END;
