-- Who has how much money: see internal/ledger. Amounts are integers of the minor unit. What a
-- customer may pay out is positive; the bank's account is what the bank owes us, so it is the
-- other side of all of that and negative. Triggers keep transactions and postings as they are.
--
-- An account has no more than 10^18 in any bucket, so that no sum leaves 64 bits: SQLite would go
-- on with floating point there.
CREATE TABLE ledger_account (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT REFERENCES workspace (id), -- NULL for the system's accounts
    kind         TEXT NOT NULL CHECK (kind IN ('customer', 'clearing', 'bank', 'fees', 'suspense')),
    name         TEXT NOT NULL,
    currency     TEXT NOT NULL,
    mode         TEXT NOT NULL CHECK (mode IN ('sandbox', 'live')),
    status       TEXT NOT NULL CHECK (status IN ('active', 'frozen', 'closed')),
    available    BIGINT NOT NULL,
    reserved     BIGINT NOT NULL,
    pending      BIGINT NOT NULL,
    postings     BIGINT NOT NULL, -- the number of the last one
    version      BIGINT NOT NULL, -- of name and status
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL, -- grows whatever the clock does, so that the times of postings do
    CHECK ((workspace_id IS NULL) = (kind <> 'customer')),
    CHECK (reserved BETWEEN 0 AND 1000000000000000000 AND pending BETWEEN 0 AND 1000000000000000000),
    CHECK (kind = 'customer' OR reserved = 0 AND pending = 0),
    CHECK (available BETWEEN CASE WHEN kind IN ('bank', 'suspense') THEN -1000000000000000000 ELSE 0 END
        AND CASE WHEN kind = 'bank' THEN 0 ELSE 1000000000000000000 END),
    CHECK (status <> 'closed' OR available = 0 AND reserved = 0 AND pending = 0)
);
CREATE INDEX ledger_account_workspace ON ledger_account (workspace_id, id);

-- One movement of money, whose postings sum to zero. The reference is what it is for: a payout, a
-- transfer, a deposit.
CREATE TABLE ledger_transaction (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT, -- NULL where it belongs to none
    kind         TEXT NOT NULL,
    reference    TEXT NOT NULL,
    description  TEXT NOT NULL,
    created_at   BIGINT NOT NULL
) {without rowid};
CREATE INDEX ledger_transaction_reference ON ledger_transaction (reference, id);

-- What a transaction does to a bucket of an account. Postings of an account are numbered from 1
-- without gaps, and their times never go back; balance is that of the bucket after it.
CREATE TABLE ledger_posting (
    account_id     TEXT NOT NULL REFERENCES ledger_account (id),
    number         BIGINT NOT NULL CHECK (number > 0),
    transaction_id TEXT NOT NULL,
    bucket         TEXT NOT NULL CHECK (bucket IN ('available', 'reserved', 'pending')),
    amount         BIGINT NOT NULL CHECK (amount <> 0),
    balance        BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    PRIMARY KEY (account_id, number)
) {without rowid};
CREATE INDEX ledger_posting_transaction ON ledger_posting (transaction_id, account_id, number);
-- An account that only receives has few of these among many; most of the others are available.
CREATE INDEX ledger_posting_bucket ON ledger_posting (account_id, bucket, number) WHERE bucket <> 'available';

-- What came in: announced by a bank (pending) or booked.
CREATE TABLE ledger_deposit (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES ledger_account (id),
    amount       BIGINT NOT NULL CHECK (amount > 0),
    source       TEXT NOT NULL,
    reference    TEXT NOT NULL, -- the bank's own, or what an operator noted
    status       TEXT NOT NULL CHECK (status IN ('pending', 'booked')),
    created_at   BIGINT NOT NULL,
    booked_at    BIGINT -- NULL until then
);
CREATE INDEX ledger_deposit_workspace ON ledger_deposit (workspace_id, id);
CREATE INDEX ledger_deposit_account ON ledger_deposit (account_id, id);
CREATE INDEX ledger_deposit_reference ON ledger_deposit (account_id, reference);
