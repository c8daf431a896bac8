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

-- The money of a mode that an approval is about, '' for none or both: credentials of the other mode do not see it.
ALTER TABLE approval ADD COLUMN mode TEXT NOT NULL DEFAULT '';
UPDATE approval SET mode = COALESCE((SELECT p.mode FROM payout p WHERE p.id = approval.subject_id),
        (SELECT a.mode FROM payout_batch b JOIN ledger_account a ON a.id = b.account_id WHERE b.id = approval.subject_id),
        (SELECT a.mode FROM ledger_account a WHERE a.id = approval.subject_id), '')
    WHERE kind IN ('payout', 'payout_batch', 'payout_recheck', 'payout_resolve', 'account_unfreeze');
UPDATE approval SET mode = 'live' WHERE kind = 'payout_resume';
-- Its condition keeps it to lists: others would take it for one that finds what is pending.
CREATE INDEX payout_mode ON payout (workspace_id, mode, id) WHERE status <> '';

-- A rule that demands less than there is without rules is suspended once a second person joins, if nobody else has agreed to it.
ALTER TABLE payout_rule ADD COLUMN alone BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE payout_rule SET alone = TRUE WHERE status = 'active' AND (approvals = 0 OR keys_may = TRUE)
    AND NOT EXISTS (SELECT 1 FROM approval a WHERE a.subject_id = payout_rule.id AND a.kind = 'payout_rule' AND a.state = 'approved');
