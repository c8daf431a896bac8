-- What one person asks for and another one allows: see internal/approval. The payload is what was
-- shown to both, sealed, because it has account numbers; its digest covers a random salt, or
-- one could find a number by trying. about_id is what the page of the thing is called by: the
-- directory entry of a receiving method. involved are the accounts that own or made what the
-- maker used, with spaces around each. told is the last state that somebody was mailed about.
CREATE TABLE approval (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspace (id),
    kind            TEXT NOT NULL,
    subject_id      TEXT NOT NULL,
    subject_version BIGINT NOT NULL,
    about_id        TEXT NOT NULL,
    digest          TEXT NOT NULL,
    payload_sealed  {bytes},
    sealed_by       BIGINT REFERENCES vault_key (id),
    maker_id        TEXT NOT NULL,
    maker           TEXT NOT NULL,
    involved        TEXT NOT NULL,
    state           TEXT NOT NULL,
    told            TEXT NOT NULL,
    decided_by      TEXT,
    decided_at      BIGINT,
    verification    TEXT NOT NULL,
    reason          TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL
);
CREATE INDEX approval_workspace ON approval (workspace_id, id);
CREATE INDEX approval_state ON approval (workspace_id, state, id);
CREATE INDEX approval_about ON approval (about_id, state);
CREATE INDEX approval_subject ON approval (subject_id, state);
CREATE INDEX approval_expiry ON approval (expires_at) WHERE state = 'pending';
CREATE INDEX approval_untold ON approval (id) WHERE told <> state;
CREATE INDEX approval_key ON approval (sealed_by, id);

-- How many people a workspace demands for a change of where money goes. cooling_hours is NULL
-- for the default, and two_seen_at is 0 for a workspace that never had two people who could.
CREATE TABLE receiving_policy (
    workspace_id  TEXT PRIMARY KEY REFERENCES workspace (id),
    approval      TEXT NOT NULL,
    cooling_hours BIGINT,
    two_seen_at   BIGINT NOT NULL,
    version       BIGINT NOT NULL
);

-- Who may approve, and since when they are known to; 0 for those who were there when the
-- workspace first had two people who could.
CREATE TABLE receiving_approver (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES account (id),
    since        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
) {without rowid};

-- Who made a machine client, who cannot approve what it asks for, whoever knows its secret now.
-- Of clients from before it is who was shown the present secret.
ALTER TABLE account ADD COLUMN made_by TEXT;
UPDATE account SET made_by = secret_seen_by WHERE kind = 'client';

-- When a person approved a device code: the session that it leads to began then, so that a code
-- that is picked up late is no later sign-in.
ALTER TABLE device_code ADD COLUMN approved_at BIGINT;
