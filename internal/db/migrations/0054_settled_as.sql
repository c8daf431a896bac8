-- The bank's own reference of the debit that settled an attempt. A debit with another one is a second debit.
ALTER TABLE payout_attempt ADD COLUMN settled_as TEXT NOT NULL DEFAULT '';
