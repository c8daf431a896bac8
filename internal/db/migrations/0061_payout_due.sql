-- Payouts that wait for people are not read at each claim.
DROP INDEX payout_due;
CREATE INDEX payout_due ON payout (mode, rail, send_at, id, institution_code, workspace_id) WHERE status = 'pending' AND attention NOT IN ('contradicted', 'recheck');
