-- Since when a rule is in force. One that waited for approval was not when it was created.
ALTER TABLE payout_rule ADD COLUMN active_at BIGINT NOT NULL DEFAULT 0;
UPDATE payout_rule SET active_at = created_at;
