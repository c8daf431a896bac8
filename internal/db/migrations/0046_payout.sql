-- Payouts: see internal/payout. The number of the account that is paid is sealed, and
-- destination_key finds it by a keyed hash. version counts the changes of a draft, which an
-- approval is bound to. approval_why says in words who has to approve it, or why nobody has to.
-- name_key is the name of the payee in lower case, by which people search. send_at is when a
-- pending one is sent.
CREATE TABLE payout (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspace (id),
    account_id       TEXT NOT NULL REFERENCES ledger_account (id),
    amount           BIGINT NOT NULL CHECK (amount > 0),
    currency         TEXT NOT NULL,
    mode             TEXT NOT NULL,
    external_id      TEXT,
    description      TEXT NOT NULL,
    rail             TEXT NOT NULL,
    rail_asked       TEXT NOT NULL,
    rail_why         TEXT NOT NULL,
    entry_id         TEXT,
    method_id        TEXT,
    institution_code TEXT NOT NULL,
    account_name     TEXT NOT NULL,
    name_key         TEXT NOT NULL,
    account_sealed   {bytes},
    sealed_by        BIGINT REFERENCES vault_key (id),
    destination_key  {bytes},
    batch_id         TEXT,
    status           TEXT NOT NULL,
    attention        TEXT NOT NULL,
    failure_code     TEXT NOT NULL,
    failure_reason   TEXT NOT NULL,
    failure_text     TEXT NOT NULL,
    cancel_reason    TEXT NOT NULL,
    maker_id         TEXT NOT NULL,
    involved         TEXT NOT NULL, -- the ids of all who had a part in it
    approval_id      TEXT,
    approval_why     TEXT NOT NULL,
    attempts         BIGINT NOT NULL,
    reserved_at      BIGINT NOT NULL, -- when its money was reserved last
    send_at          BIGINT NOT NULL,
    expected_at      BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    ended_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_external ON payout (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX payout_newest ON payout (workspace_id, id);
CREATE INDEX payout_status ON payout (workspace_id, status, id);
CREATE INDEX payout_rail ON payout (workspace_id, rail, id);
CREATE INDEX payout_account ON payout (account_id, id);
CREATE INDEX payout_name ON payout (workspace_id, name_key, id);
CREATE INDEX payout_entry ON payout (entry_id, id) WHERE entry_id IS NOT NULL;
CREATE INDEX payout_batch_member ON payout (batch_id, id) WHERE batch_id IS NOT NULL;
-- Each rail takes what is due on it. Those of an institution that is down are skipped within the index.
CREATE INDEX payout_due ON payout (mode, rail, send_at, id, institution_code) WHERE status = 'pending';
CREATE INDEX payout_attention ON payout (workspace_id, id) WHERE attention <> '';
CREATE INDEX payout_closed ON payout (workspace_id, destination_key) WHERE failure_code = 'ACCOUNT_CLOSED';
CREATE INDEX payout_key ON payout (sealed_by, id);

-- An attempt is stored as sending before anything leaves. ask_at is when the rail is asked what
-- became of it: whoever sends it, or asks, moves it on, and that is the lease. settled_at is when a
-- statement of the bank has shown it, 0 before.
CREATE TABLE payout_attempt (
    id            TEXT PRIMARY KEY,
    payout_id     TEXT NOT NULL REFERENCES payout (id),
    number        BIGINT NOT NULL,
    end_to_end_id TEXT NOT NULL,
    state         TEXT NOT NULL,
    code          TEXT NOT NULL,
    text          TEXT NOT NULL,
    reference     TEXT NOT NULL,
    node          TEXT NOT NULL,
    ask_at        BIGINT NOT NULL,
    asked         BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    answered_at   BIGINT NOT NULL,
    settled_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_attempt_end_to_end ON payout_attempt (end_to_end_id);
CREATE UNIQUE INDEX payout_attempt_number ON payout_attempt (payout_id, number);
CREATE INDEX payout_attempt_open ON payout_attempt (ask_at, id) WHERE state IN ('sending', 'accepted', 'unknown');

-- What a connector told, so that it is taken once.
CREATE TABLE rail_notice (
    connector  TEXT NOT NULL,
    message_id TEXT NOT NULL,
    entry_id   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    payout_id  TEXT,
    taken_at   BIGINT NOT NULL,
    PRIMARY KEY (connector, message_id, entry_id)
) {without rowid};

-- Payouts that were asked for together, and that one approval allows. refused is how many were
-- refused when it was made.
CREATE TABLE payout_batch (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES ledger_account (id),
    currency     TEXT NOT NULL,
    description  TEXT NOT NULL,
    payouts      BIGINT NOT NULL,
    total        BIGINT NOT NULL,
    refused      BIGINT NOT NULL,
    maker_id     TEXT NOT NULL,
    approval_id  TEXT,
    approval_why TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX payout_batch_newest ON payout_batch (workspace_id, id);
