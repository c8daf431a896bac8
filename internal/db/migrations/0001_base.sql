-- One text for both engines. TEXT becomes TEXT COLLATE "C" on PostgreSQL, so
-- that ids and keys compare bytewise on both; {without rowid} is SQLite's.
-- Times are Unix milliseconds.

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE signing_key (
    id         TEXT PRIMARY KEY,
    seed       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    retired_at BIGINT
);

CREATE TABLE organization (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    slug       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX organization_slug ON organization (slug);

-- People and machine clients: whoever can hold a session and a role.
CREATE TABLE account (
    id          TEXT PRIMARY KEY,
    kind        TEXT NOT NULL,
    email       TEXT NOT NULL,
    name        TEXT NOT NULL,
    status      TEXT NOT NULL,
    home_org_id TEXT REFERENCES organization (id),
    secret_hash TEXT,
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX account_email ON account (email) WHERE email <> '';

CREATE TABLE organization_member (
    organization_id TEXT NOT NULL REFERENCES organization (id),
    account_id      TEXT NOT NULL REFERENCES account (id),
    role            TEXT NOT NULL,
    PRIMARY KEY (account_id, organization_id)
) {without rowid};
CREATE INDEX organization_member_organization ON organization_member (organization_id, account_id);

CREATE TABLE workspace (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    name            TEXT NOT NULL,
    slug            TEXT NOT NULL,
    member_version  BIGINT NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspace_slug ON workspace (organization_id, slug);

CREATE TABLE workspace_member (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES account (id),
    joined_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
) {without rowid};
CREATE INDEX workspace_member_account ON workspace_member (account_id, workspace_id);

CREATE TABLE workspace_role (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    role         TEXT NOT NULL,
    name         TEXT NOT NULL,
    color        TEXT NOT NULL,
    permissions  TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, role)
);

-- A role key is a built-in one or one of workspace_role.
CREATE TABLE member_role (
    workspace_id TEXT NOT NULL,
    account_id   TEXT NOT NULL,
    role         TEXT NOT NULL,
    PRIMARY KEY (workspace_id, account_id, role),
    FOREIGN KEY (workspace_id, account_id) REFERENCES workspace_member (workspace_id, account_id) ON DELETE CASCADE
) {without rowid};
CREATE INDEX member_role_role ON member_role (workspace_id, role, account_id);

CREATE TABLE api_key (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    name          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    allowed_cidrs TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    lifetime      BIGINT, -- which a rotated key hands on; expires_at is cut by rotation
    expires_at    BIGINT,
    last_used_at  BIGINT,
    revoked_at    BIGINT
);
CREATE UNIQUE INDEX api_key_hash ON api_key (hash);
CREATE INDEX api_key_account ON api_key (account_id, id) WHERE revoked_at IS NULL;

-- api_key_id is the key that a session hangs on: the one it was exchanged for,
-- or the one of whoever approved its device code.
CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES account (id),
    api_key_id TEXT REFERENCES api_key (id),
    actor_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX session_account ON session (account_id);
CREATE INDEX session_api_key ON session (api_key_id) WHERE api_key_id IS NOT NULL;
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE device_code (
    code        TEXT PRIMARY KEY,
    id          TEXT NOT NULL,
    intent      TEXT NOT NULL,
    challenge   TEXT NOT NULL,
    ip          TEXT NOT NULL,
    agent       TEXT NOT NULL,
    status      TEXT NOT NULL,
    account_id  TEXT REFERENCES account (id),
    api_key_id  TEXT REFERENCES api_key (id),
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX device_code_expiry ON device_code (expires_at);

CREATE TABLE directory_entry (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    type         TEXT NOT NULL,
    label        TEXT NOT NULL,
    label_sent   BOOLEAN NOT NULL,
    name         TEXT NOT NULL,
    status       TEXT NOT NULL,
    fields       TEXT NOT NULL,
    words        TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    deleted_at   BIGINT
);
CREATE INDEX directory_entry_newest ON directory_entry (workspace_id, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type ON directory_entry (workspace_id, type, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_status ON directory_entry (workspace_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type_status ON directory_entry (workspace_id, type, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_deleted ON directory_entry (deleted_at) WHERE deleted_at IS NOT NULL;

-- Words of live entries alone: a deleted entry costs a search nothing.
CREATE TABLE directory_word (
    workspace_id TEXT NOT NULL,
    word         TEXT NOT NULL,
    entry_id     TEXT NOT NULL,
    PRIMARY KEY (workspace_id, word, entry_id)
) {without rowid};

CREATE TABLE directory_tag (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    name         TEXT NOT NULL,
    name_key     TEXT NOT NULL,
    applies_to   TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX directory_tag_name ON directory_tag (workspace_id, name_key);
CREATE INDEX directory_tag_workspace ON directory_tag (workspace_id, id);

-- live is false while the entry is deleted, so that a page by tag never has to
-- step over entries that are gone.
CREATE TABLE directory_entry_tag (
    entry_id TEXT NOT NULL REFERENCES directory_entry (id) ON DELETE CASCADE,
    tag_id   TEXT NOT NULL REFERENCES directory_tag (id) ON DELETE CASCADE,
    live     BOOLEAN NOT NULL,
    PRIMARY KEY (entry_id, tag_id)
) {without rowid};
CREATE INDEX directory_entry_tag_newest ON directory_entry_tag (tag_id, live, entry_id);

CREATE TABLE receiving_method (
    id           TEXT PRIMARY KEY,
    entry_id     TEXT NOT NULL REFERENCES directory_entry (id) ON DELETE CASCADE,
    provider     TEXT NOT NULL,
    account_name TEXT NOT NULL,
    account_id   TEXT NOT NULL,
    is_default   BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX receiving_method_entry ON receiving_method (entry_id, id);
CREATE UNIQUE INDEX receiving_method_default ON receiving_method (entry_id) WHERE is_default;

-- No foreign keys: rows survive what they speak of. A row belongs to a
-- workspace, or to an organization, or to nobody but its actor.
CREATE TABLE audit_log (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT,
    organization_id TEXT,
    action          TEXT NOT NULL,
    outcome         TEXT NOT NULL,
    description     TEXT NOT NULL,
    actor_type      TEXT NOT NULL,
    actor_id        TEXT NOT NULL,
    actor_name      TEXT NOT NULL,
    actor_email     TEXT NOT NULL,
    resource_type   TEXT NOT NULL,
    resource_id     TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    ip              TEXT NOT NULL,
    at              BIGINT NOT NULL
);
CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_workspace_actor ON audit_log (workspace_id, actor_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_workspace_action ON audit_log (workspace_id, action, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_workspace_type ON audit_log (workspace_id, resource_type, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_workspace_resource ON audit_log (workspace_id, resource_id, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_workspace_outcome ON audit_log (workspace_id, outcome, id) WHERE workspace_id IS NOT NULL;
CREATE INDEX audit_log_organization ON audit_log (organization_id, id) WHERE organization_id IS NOT NULL;
CREATE INDEX audit_log_own ON audit_log (actor_id, id) WHERE workspace_id IS NULL;

-- The answer is sealed with a key that only the holder of the idempotency key
-- can derive: an answer may carry a secret that is stored nowhere else in clear.
CREATE TABLE idempotency (
    id          TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    status      BIGINT NOT NULL,
    answer      TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX idempotency_age ON idempotency (created_at);
