-- Whether a return is told once more, or money came a second time, depends on how the returns of the
-- payout that were told before are named.
CREATE INDEX rail_notice_returned ON rail_notice (payout_id) WHERE kind = 'returned';
