-- How people sign in to the console.

-- email_proof says for whom it is settled that the address is the person's: '*'
-- for everybody (an operator, a mail that arrived or an identity provider said
-- so), an organization whose invitation was handed over by hand, '' for nobody.
ALTER TABLE account ADD COLUMN email_proof TEXT NOT NULL DEFAULT '';
UPDATE account SET email_proof = '*' WHERE status <> 'invited';
ALTER TABLE account ADD COLUMN password_hash TEXT;
ALTER TABLE account ADD COLUMN last_used_at BIGINT;

-- accepted is true for who created the workspace, took its invitation, or was
-- known to its organization when they were added.
ALTER TABLE workspace_member ADD COLUMN accepted BOOLEAN NOT NULL DEFAULT FALSE;

-- Who is a member and may act as one. Anybody can invite any address: an account
-- that was completed by the link of one workspace must not open what others have
-- prepared for the same address.
CREATE VIEW live_member AS
    SELECT m.workspace_id, m.account_id, m.joined_at, w.organization_id
    FROM workspace_member m JOIN workspace w ON w.id = m.workspace_id JOIN account a ON a.id = m.account_id
    WHERE m.accepted = TRUE OR a.email_proof = '*';

-- Sessions of browsers have a secret in a cookie in place of a signed token, and
-- end when they are not used.
ALTER TABLE session ADD COLUMN secret_hash TEXT;
ALTER TABLE session ADD COLUMN method TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN ip TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN last_seen_at BIGINT;
CREATE UNIQUE INDEX session_secret ON session (secret_hash) WHERE secret_hash IS NOT NULL;
DROP INDEX session_account;
CREATE INDEX session_live ON session (account_id, id) WHERE revoked_at IS NULL;

CREATE INDEX device_code_approved ON device_code (account_id) WHERE status = 'approved';

CREATE TABLE passkey (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    credential_id TEXT NOT NULL,
    name          TEXT NOT NULL,
    credential    TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    last_used_at  BIGINT
);
CREATE UNIQUE INDEX passkey_credential ON passkey (credential_id);
CREATE INDEX passkey_account ON passkey (account_id, id);

-- last_step is the time step of the last code that was used: none is good twice.
CREATE TABLE totp (
    account_id TEXT PRIMARY KEY REFERENCES account (id),
    secret     TEXT NOT NULL,
    last_step  BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE recovery_code (
    account_id TEXT NOT NULL REFERENCES account (id),
    hash       TEXT NOT NULL,
    used_at    BIGINT,
    PRIMARY KEY (account_id, hash)
) {without rowid};

-- A link that lets somebody in once: to take an invitation to a workspace, or,
-- without one, to set up how they sign in. mailed is the copy that went to the
-- address itself; using one ends the others of the same purpose.
CREATE TABLE account_link (
    id           TEXT PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES account (id),
    workspace_id TEXT REFERENCES workspace (id),
    hash         TEXT NOT NULL,
    mailed       BOOLEAN NOT NULL,
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT
);
CREATE UNIQUE INDEX account_link_hash ON account_link (hash);
CREATE INDEX account_link_account ON account_link (account_id);
CREATE INDEX account_link_expiry ON account_link (expires_at);
