-- Who knows or made what: for removing a person who leaves.
CREATE INDEX account_secret_seen_by ON account (secret_seen_by) WHERE secret_seen_by IS NOT NULL;
CREATE INDEX account_made_by ON account (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX account_link_open_by ON account_link (made_by_id) WHERE used_at IS NULL AND made_by_id IS NOT NULL;

-- People who operate the store, with what they may do (ops.read, ops.money, ops.access) and spaces between.
CREATE TABLE operator (
    account_id  TEXT PRIMARY KEY REFERENCES account (id),
    permissions TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);

-- What one operator asks for and another one confirms. The payload is JSON, and the reference is that of a deposit, which is unique
-- among those that wait or were made. requested_by is NULL for whoever has the machine.
CREATE TABLE operator_request (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    subject_id   TEXT NOT NULL,
    payload      TEXT NOT NULL,
    reference    TEXT NOT NULL,
    requested_by TEXT REFERENCES account (id),
    requester    TEXT NOT NULL,
    state        TEXT NOT NULL,
    decided_by   TEXT REFERENCES account (id),
    decided_at   BIGINT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX operator_request_pending ON operator_request (id) WHERE state = 'pending';
CREATE UNIQUE INDEX operator_request_reference ON operator_request (reference) WHERE reference <> '' AND state IN ('pending', 'approved');
