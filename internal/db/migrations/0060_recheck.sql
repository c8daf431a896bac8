-- A payout that is held: the approval that releases it, and the limits and rules that were overridden for it.
ALTER TABLE payout ADD COLUMN recheck_id TEXT;
ALTER TABLE payout ADD COLUMN overrides TEXT NOT NULL DEFAULT '';
CREATE INDEX payout_recheck ON payout (recheck_id) WHERE recheck_id IS NOT NULL;
