-- What people have found out about the newest submission of an attempt: '', 'paid' or 'not_paid'. not_paid is the highest
-- submission that they have found not to be paid; it stays when the attempt is submitted again.
ALTER TABLE payout_attempt ADD COLUMN resolved TEXT NOT NULL DEFAULT '';
ALTER TABLE payout_attempt ADD COLUMN not_paid BIGINT NOT NULL DEFAULT 0;
