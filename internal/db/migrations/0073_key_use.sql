-- The API key that the caller's session depended on, NULL for none and for rows from before. It is apart from the entry, which the
-- tree of the log covers.
ALTER TABLE audit_log ADD COLUMN key_id UUID;

-- The keys with which secrets of a machine client were made, also of those that were replaced.
CREATE TABLE client_secret_key (
    key_id    TEXT NOT NULL REFERENCES api_key (id),
    client_id TEXT NOT NULL REFERENCES account (id),
    PRIMARY KEY (key_id, client_id)
) {without rowid};
INSERT INTO client_secret_key SELECT secret_key_id, id FROM account WHERE secret_key_id IS NOT NULL;

-- The API key through which access came: the one with which it was given, or through which whoever gave it had come. It stays when they
-- leave.
ALTER TABLE workspace_member ADD COLUMN through_key_id TEXT;
ALTER TABLE member_role ADD COLUMN through_key_id TEXT;
ALTER TABLE organization_member ADD COLUMN through_key_id TEXT;
UPDATE workspace_member SET through_key_id = given_key_id WHERE given_key_id IS NOT NULL;
UPDATE member_role SET through_key_id = given_key_id WHERE given_key_id IS NOT NULL;
CREATE INDEX workspace_member_through ON workspace_member (through_key_id, workspace_id) WHERE through_key_id IS NOT NULL;
CREATE INDEX member_role_through ON member_role (through_key_id, workspace_id) WHERE through_key_id IS NOT NULL;
CREATE INDEX organization_member_through ON organization_member (through_key_id, organization_id) WHERE through_key_id IS NOT NULL;

-- Ownership that is suspended is a row here and nowhere else. With reported it is not suspended: an owner is asked whether to.
CREATE TABLE suspended_owner (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL, -- that is compromised
    reported        BOOLEAN NOT NULL,
    suspended_at    BIGINT NOT NULL,
    suspended_by    TEXT,
    state           TEXT NOT NULL, -- suspended, confirmed or removed
    decided_by      TEXT,
    decided_at      BIGINT
);
CREATE INDEX suspended_owner_open ON suspended_owner (organization_id, id) WHERE state = 'suspended';
CREATE INDEX suspended_owner_account ON suspended_owner (account_id) WHERE state = 'suspended';

-- Access that a former member has reported is in force until an admin decides.
ALTER TABLE suspended_access ADD COLUMN reported BOOLEAN NOT NULL DEFAULT FALSE;
