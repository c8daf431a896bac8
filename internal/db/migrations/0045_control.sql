-- An approval may take several people, of a role, and may let API keys vote: see
-- internal/approval. Those that were approved before were by one person.
ALTER TABLE approval ADD COLUMN needed BIGINT NOT NULL DEFAULT 1;
ALTER TABLE approval ADD COLUMN votes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approval ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE approval ADD COLUMN keys_may BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE approval_vote (
    approval_id  TEXT NOT NULL REFERENCES approval (id) ON DELETE CASCADE,
    account_id   TEXT NOT NULL REFERENCES account (id),
    at           BIGINT NOT NULL,
    verification TEXT NOT NULL,
    PRIMARY KEY (approval_id, account_id)
) {without rowid};
INSERT INTO approval_vote (approval_id, account_id, at, verification)
    SELECT id, decided_by, decided_at, verification FROM approval WHERE state = 'approved' AND decided_by IS NOT NULL;
UPDATE approval SET votes = 1 WHERE state = 'approved' AND decided_by IS NOT NULL;

-- Who may approve is known for each pair of permissions: receiving methods, and payouts.
CREATE TABLE approver (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    pair         TEXT NOT NULL,
    account_id   TEXT NOT NULL REFERENCES account (id),
    since        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, pair, account_id)
) {without rowid};
INSERT INTO approver (workspace_id, pair, account_id, since) SELECT workspace_id, 'receiving', account_id, since FROM receiving_approver;
DROP TABLE receiving_approver;

-- When a workspace last had two people who could make and approve payouts; 0 is never.
ALTER TABLE receiving_policy ADD COLUMN payouts_seen_at BIGINT NOT NULL DEFAULT 0;

-- How many people have to approve payouts: see internal/payout/rule.go. Empty texts and NULL match
-- every payout. A pending one holds when it is approved; approval_id is what its beginning or its
-- end waits for.
CREATE TABLE payout_rule (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL,
    rail         TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    above        BIGINT,
    up_to        BIGINT,
    approvals    BIGINT NOT NULL,
    role         TEXT NOT NULL,
    keys_may     BOOLEAN NOT NULL,
    status       TEXT NOT NULL,
    approval_id  TEXT,
    created_at   BIGINT NOT NULL
);
CREATE INDEX payout_rule_workspace ON payout_rule (workspace_id, id);

-- How much may be paid: see internal/payout/limit.go. A count of 0 is none. There is one limit for
-- each scope, whose amount can be changed.
CREATE TABLE payout_limit (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL,
    maker_id     TEXT NOT NULL,
    entry_id     TEXT NOT NULL,
    rail         TEXT NOT NULL,
    each_of      TEXT NOT NULL,
    per          TEXT NOT NULL,
    amount       BIGINT NOT NULL,
    count        BIGINT NOT NULL,
    version      BIGINT NOT NULL,
    approval_id  TEXT,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_limit_scope ON payout_limit (workspace_id, account_id, maker_id, entry_id, rail, each_of, per);
CREATE INDEX payout_limit_workspace ON payout_limit (workspace_id, id);

-- What was paid of a limit on a day in Manila, counted from 1970-01-01. of_id is the account, maker
-- or payee that it holds for by itself, and empty for one that all share.
CREATE TABLE payout_used (
    limit_id TEXT NOT NULL,
    day      BIGINT NOT NULL,
    of_id    TEXT NOT NULL,
    amount   BIGINT NOT NULL,
    count    BIGINT NOT NULL,
    PRIMARY KEY (limit_id, day, of_id)
) {without rowid};
CREATE INDEX payout_used_day ON payout_used (day);
