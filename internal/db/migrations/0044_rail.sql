-- How rails, connectors and institutions are, where somebody has said so: see internal/rail.
-- Whatever has no row is up.
CREATE TABLE service_status (
    sandbox BOOLEAN NOT NULL,
    service TEXT NOT NULL,
    status  TEXT NOT NULL,
    reason  TEXT NOT NULL,
    since   BIGINT NOT NULL,
    PRIMARY KEY (sandbox, service)
) {without rowid};

-- The payments that the simulator has taken: see internal/rail/simulator. It is the bank's side,
-- so no row of ours refers to it, and it shows whether anything was paid twice. Of an account number
-- it has no more than the last four digits that decide what happens; "" if they decide nothing.
-- tell is what the bank has yet to say about the payment, and due_at when; NULL if nothing.
CREATE TABLE simulated_payment (
    end_to_end_id TEXT PRIMARY KEY,
    payout_id     TEXT NOT NULL,
    rail          TEXT NOT NULL,
    amount        BIGINT NOT NULL,
    currency      TEXT NOT NULL,
    digits        TEXT NOT NULL,
    state         TEXT NOT NULL,
    code          TEXT NOT NULL,
    return_code   TEXT NOT NULL,
    taken_at      BIGINT NOT NULL,
    tell          TEXT,
    due_at        BIGINT
) {without rowid};
CREATE INDEX simulated_payment_due ON simulated_payment (due_at, end_to_end_id) WHERE due_at IS NOT NULL;
