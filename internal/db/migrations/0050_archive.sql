-- What is true of this copy of the store and not of what it holds, so that archives and moves leave
-- it out: incomplete while it is being filled, moved when another store has taken its place. See
-- internal/db/mark.go.
CREATE TABLE store_mark (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    since BIGINT NOT NULL
);

-- After a restore: the payouts that may have been sent after the moment of the archive, until their
-- rails were asked. See internal/payout/recall.go.
CREATE TABLE payout_recall (
    payout_id TEXT PRIMARY KEY REFERENCES payout (id)
) {without rowid};
