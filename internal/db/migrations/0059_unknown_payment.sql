-- After a restore: payments that the record of a rail has and the store did not know, because their payouts were made after the
-- moment of the archive. See internal/payout/unknown.go. payout_id and attempt follow from end_to_end_id. acknowledged_at is 0
-- until an operator has acknowledged the payment.
CREATE TABLE unknown_payment (
    end_to_end_id   TEXT PRIMARY KEY,
    payout_id       TEXT NOT NULL,
    attempt         BIGINT NOT NULL,
    submission      BIGINT NOT NULL,
    connector       TEXT NOT NULL,
    rail            TEXT NOT NULL,
    account_id      TEXT NOT NULL, -- '' if the record does not have it
    amount          BIGINT NOT NULL,
    currency        TEXT NOT NULL,
    external_hash   TEXT NOT NULL, -- of workspace and external id; '' if the record does not have it
    sent_at         BIGINT NOT NULL,
    acknowledged_at BIGINT NOT NULL
);
CREATE INDEX unknown_payment_open ON unknown_payment (payout_id, attempt) WHERE acknowledged_at = 0;
CREATE INDEX unknown_payment_external ON unknown_payment (external_hash);
