-- Whether people have stopped sending payouts, by workspace and mode. stopped_at is when, and 0 once it was resumed. version
-- counts the stops, so that an approval to resume lifts only the stop that it was asked for.
CREATE TABLE payout_stop (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    mode         TEXT NOT NULL,
    stopped_at   BIGINT NOT NULL,
    stopped_by   TEXT NOT NULL,
    reason       TEXT NOT NULL,
    version      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, mode)
) {without rowid};
CREATE INDEX payout_stop_standing ON payout_stop (mode, workspace_id) WHERE stopped_at > 0;
