-- Who gave a membership or a role, and with which API key: what came through a key that turns out to be compromised is suspended.
ALTER TABLE workspace_member ADD COLUMN given_by TEXT;
ALTER TABLE workspace_member ADD COLUMN given_key_id TEXT;
ALTER TABLE member_role ADD COLUMN given_by TEXT;
ALTER TABLE member_role ADD COLUMN given_key_id TEXT;
CREATE INDEX workspace_member_given ON workspace_member (given_by, given_key_id, workspace_id) WHERE given_key_id IS NOT NULL;
CREATE INDEX member_role_given ON member_role (given_by, given_key_id, workspace_id) WHERE given_key_id IS NOT NULL;

-- A thief rotates a key: what came through its successor came through it, too.
ALTER TABLE api_key ADD COLUMN rotated_from TEXT;
CREATE INDEX api_key_rotated ON api_key (rotated_from) WHERE rotated_from IS NOT NULL;

-- API keys that someone else may have used.
CREATE TABLE compromised_key (
    id          TEXT PRIMARY KEY REFERENCES api_key (id),
    reported_at BIGINT NOT NULL
);

-- Memberships and roles that are suspended are rows here and nowhere else, so nothing else has to know of them.
CREATE TABLE suspended_access (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES account (id),
    key_id       TEXT NOT NULL, -- that is compromised
    kind         TEXT NOT NULL, -- member or role
    roles        TEXT NOT NULL, -- separated by spaces
    suspended_at BIGINT NOT NULL,
    suspended_by TEXT,
    state        TEXT NOT NULL, -- suspended, confirmed or removed
    decided_by   TEXT,
    decided_at   BIGINT
);
CREATE INDEX suspended_access_open ON suspended_access (workspace_id, id) WHERE state = 'suspended';

-- Whether a workspace has a live account is asked when a credential of the sandbox changes a payee.
CREATE INDEX ledger_account_live ON ledger_account (workspace_id) WHERE mode = 'live';
CREATE INDEX suspended_access_account ON suspended_access (account_id) WHERE state = 'suspended';
