-- Who gave a membership or a role, and with which API key: what came through a key that turns out to be compromised is suspended.
ALTER TABLE workspace_member ADD COLUMN given_by TEXT;
ALTER TABLE workspace_member ADD COLUMN given_key_id TEXT;
ALTER TABLE member_role ADD COLUMN given_by TEXT;
ALTER TABLE member_role ADD COLUMN given_key_id TEXT;
CREATE INDEX workspace_member_given_key ON workspace_member (given_key_id) WHERE given_key_id IS NOT NULL;
CREATE INDEX member_role_given_key ON member_role (given_key_id) WHERE given_key_id IS NOT NULL;

ALTER TABLE api_key ADD COLUMN compromised_at BIGINT;
CREATE INDEX api_key_compromised ON api_key (id) WHERE compromised_at IS NOT NULL;
CREATE INDEX approval_vote_key ON approval_vote (key_id) WHERE key_id <> '';

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
