-- The tree over all rows of the audit log, by which somebody who trusts nobody can check
-- it: see internal/auditlog/doc.go. It is built in the order of the places.
CREATE UNIQUE INDEX audit_place_position ON audit_place (position);

-- A tile has up to 256 hashes of 32 bytes: the hashes of 256 leaves on level 0, of 256 tiles
-- of the level below on the others. Full tiles never change. (C2SP tlog-tiles.)
CREATE TABLE audit_tile (
    level  INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, number)
);

-- The only row says how far the tree has been built. Whoever builds compares and swaps its size.
CREATE TABLE audit_tree (
    single     INTEGER PRIMARY KEY CHECK (single = 1),
    verifier   TEXT NOT NULL,    -- the public key that verifies the checkpoints; empty before there is one
    origin     TEXT NOT NULL,    -- the name of the log in its checkpoints
    generation INTEGER NOT NULL, -- 1, and one more with each restart
    restart    TEXT NOT NULL,    -- the checkpoint of the former log, which the first leaf holds; empty in the first log
    row_offset BIGINT NOT NULL,  -- the leaves before the first row: 1 after a restart
    size       BIGINT NOT NULL,  -- leaves
    rows       BIGINT NOT NULL,  -- the last position that has a leaf
    heads      BIGINT NOT NULL,
    mailed_at  BIGINT NOT NULL   -- when a checkpoint was mailed last
);
INSERT INTO audit_tree VALUES (1, '', '', 1, '', 0, 0, 0, 0, 0);

-- A head is a tree that is signed. The last leaf below it commits to how many rows each stream has.
CREATE TABLE audit_head (
    number INTEGER PRIMARY KEY,
    size   BIGINT NOT NULL,
    rows   BIGINT NOT NULL,
    root   BLOB NOT NULL,
    at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX audit_head_rows ON audit_head (rows);
