-- Rules and limits hold for the money of a mode, or of both: see internal/payout/guard.go. Those of before are for both.
ALTER TABLE payout_rule ADD COLUMN mode TEXT NOT NULL DEFAULT 'both';
ALTER TABLE payout_limit ADD COLUMN mode TEXT NOT NULL DEFAULT 'both';
DROP INDEX payout_limit_scope;
CREATE UNIQUE INDEX payout_limit_scope ON payout_limit (workspace_id, mode, account_id, maker_id, entry_id, rail, each_of, per);

-- What was paid of a limit is counted for each mode and currency. What was counted before may be of any of those that the workspace
-- has, so it counts for each of them.
CREATE TABLE payout_counted (
    guard_id TEXT NOT NULL,
    day      BIGINT NOT NULL,
    of_id    TEXT NOT NULL,
    mode     TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount   BIGINT NOT NULL,
    count    BIGINT NOT NULL,
    PRIMARY KEY (guard_id, day, of_id, mode, currency)
) {without rowid};
INSERT INTO payout_counted (guard_id, day, of_id, mode, currency, amount, count)
    SELECT DISTINCT u.limit_id, u.day, u.of_id, a.mode, a.currency, u.amount, u.count
    FROM payout_used u JOIN payout_limit l ON l.id = u.limit_id JOIN ledger_account a ON a.workspace_id = l.workspace_id;
DROP TABLE payout_used;
CREATE INDEX payout_counted_day ON payout_counted (day);

-- Rules by sum: see internal/payout/rule_sum.go. counted_at is when a payout was counted for them, 0 for never.
ALTER TABLE payout_rule ADD COLUMN per TEXT NOT NULL DEFAULT 'payout';
ALTER TABLE payout_rule ADD COLUMN each_of TEXT NOT NULL DEFAULT '';
ALTER TABLE payout ADD COLUMN counted_at BIGINT NOT NULL DEFAULT 0;
