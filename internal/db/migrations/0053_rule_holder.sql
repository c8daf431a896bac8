-- Who had the secret of the machine client when a rule about it was made: see internal/payout/rule.go.
ALTER TABLE payout_rule ADD COLUMN client_holder TEXT;
UPDATE payout_rule SET client_holder = (SELECT a.secret_seen_by FROM account a WHERE a.id = payout_rule.client_id);
