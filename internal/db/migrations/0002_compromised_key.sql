-- What holds payouts when an API key turns out to be compromised.

-- The keys through which the access of a voter came, in access_origin. NULL for none, and for the votes of 1.0.0-rc.1.
ALTER TABLE approval_vote ADD COLUMN origin_id TEXT;

-- The key with which a payout was requested, or its draft was last changed. NULL for none, and for the payouts of 1.0.0-rc.1.
ALTER TABLE payout ADD COLUMN key_id TEXT;
