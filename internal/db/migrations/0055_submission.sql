-- An attempt that the rail has not received is submitted again under the same end-to-end id, with the next submission number.
-- claimed_at is when the newest submission was claimed. accepted is the lowest submission that the rail has acknowledged: 0 for
-- none, -1 if it has acknowledged one without saying which.
ALTER TABLE payout_attempt ADD COLUMN submission BIGINT NOT NULL DEFAULT 1;
ALTER TABLE payout_attempt ADD COLUMN claimed_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payout_attempt ADD COLUMN accepted BIGINT NOT NULL DEFAULT 0;
-- A rail gives a reference to what it accepts.
UPDATE payout_attempt SET claimed_at = created_at,
    accepted = CASE WHEN state IN ('accepted', 'completed') OR reference <> '' AND state <> 'rejected' THEN 1 ELSE 0 END;
UPDATE payout_attempt SET state = 'not_received' WHERE state = 'never_came';
-- One that was accepted and not found any more may have been paid.
UPDATE payout SET attention = 'contradicted' WHERE status = 'pending' AND EXISTS (SELECT 1 FROM payout_attempt a
    WHERE a.payout_id = payout.id AND a.number = payout.attempts AND a.state = 'not_received' AND a.accepted <> 0);
ALTER TABLE simulated_payment ADD COLUMN submission BIGINT NOT NULL DEFAULT 1;
UPDATE simulated_payment SET state = 'not_received' WHERE state = 'never_came';
