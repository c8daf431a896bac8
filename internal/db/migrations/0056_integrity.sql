-- Codes that only the program can compute: see db.Integrity. terms_mac is over what was approved, and is made when the money of a
-- payout is reserved. Rows from before have none; the next start adds those of payouts that are not final.
ALTER TABLE ledger_transaction ADD COLUMN mac {bytes};
ALTER TABLE payout ADD COLUMN terms_mac {bytes};
ALTER TABLE payout ADD COLUMN approvals_needed BIGINT NOT NULL DEFAULT 0; -- when its money was reserved
ALTER TABLE approval_vote ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
ALTER TABLE approval_vote ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
