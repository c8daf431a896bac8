-- The schema, one text for both engines. TEXT becomes TEXT COLLATE "C" on PostgreSQL, so that ids and keys compare
-- bytewise on both. {bytes} is BLOB or BYTEA, and {uuid} the 16 bytes of a packed id: BLOB or UUID. {without rowid}
-- is SQLite's, and {nulls first} PostgreSQL's. Times are Unix milliseconds, and amounts integers of the minor unit.
-- The parts for one engine only are in 0001_schema.sqlite.sql and 0001_schema.postgres.sql, which are applied after
-- this.

--
-- # The store
--

-- Single values of the store, by names that are defined in the source code.
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Properties of this copy of the store and not of its contents, so that archives and moves leave them out.
-- A store is incomplete while it is being filled, and moved when another has replaced it. See
-- internal/db/mark.go.
CREATE TABLE store_mark (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    since BIGINT NOT NULL
);

-- Answers to requests with an idempotency key. The id is half of a digest of the caller and the key. The answer is
-- encrypted, with the fingerprint of the request, by a key that only the holder of the idempotency key can derive. It
-- may contain a secret that is stored nowhere else in plaintext. There is no index on the age: expired records are
-- found by scanning the ids, one range at a time.
CREATE TABLE idempotency (
    id         TEXT PRIMARY KEY,
    status     BIGINT NOT NULL,
    answer     TEXT NOT NULL,
    created_at BIGINT NOT NULL
) {without rowid};

-- The remaining attempts at sensitive operations: guessing a password or a code, or having mail sent. The id is a digest
-- of the kind and the key of the budget, since the key may be an address. A budget is full again at full_at. So one
-- number records how much of it is used, and its row is not needed after that.
CREATE TABLE budget (
    id      TEXT PRIMARY KEY,
    full_at BIGINT NOT NULL
) {without rowid};
CREATE INDEX budget_full ON budget (full_at);

--
-- # The vault seals values that a stolen database must not reveal: see internal/vault
--

-- The master keys, of which the store has only the fingerprints. The one with the highest version wraps new data keys.
CREATE TABLE vault_master (
    version     BIGINT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    wrapped     {bytes}, -- the key itself, wrapped by the program of --vault-command; NULL for a key in a file
    created_at  BIGINT NOT NULL
);

-- The data keys of workspaces, and of the store itself, whose number is 0. Each has one key that seals; a retired key
-- only opens. A sealed row refers to its key, so that the database keeps a key as long as a row needs it.
CREATE TABLE vault_key (
    id               BIGINT PRIMARY KEY,
    workspace_number BIGINT NOT NULL,
    master_version   BIGINT NOT NULL REFERENCES vault_master (version),
    wrapped          {bytes} NOT NULL,
    created_at       BIGINT NOT NULL,
    retired_at       BIGINT
);
CREATE UNIQUE INDEX vault_key_sealing ON vault_key (workspace_number) WHERE retired_at IS NULL;
CREATE INDEX vault_key_workspace ON vault_key (workspace_number, id);
CREATE INDEX vault_key_master ON vault_key (master_version, id);
CREATE INDEX vault_key_retired ON vault_key (id) WHERE retired_at IS NOT NULL;

-- The id of the newest data key, in the only row. No id is used twice.
CREATE TABLE vault_counter (last_id BIGINT NOT NULL);
INSERT INTO vault_counter (last_id) VALUES (0);

-- Single secrets of the store.
CREATE TABLE vault_secret (
    name      TEXT PRIMARY KEY,
    sealed    {bytes},
    sealed_by BIGINT REFERENCES vault_key (id)
);
CREATE INDEX vault_secret_key ON vault_secret (sealed_by);

--
-- # Organizations, workspaces, accounts and access
--

CREATE TABLE organization (
    id                    TEXT PRIMARY KEY,
    name                  TEXT NOT NULL,
    slug                  TEXT NOT NULL,
    require_second_factor BOOLEAN NOT NULL DEFAULT FALSE, -- required of its members at sign-in
    audit_retention_days  INTEGER NOT NULL DEFAULT 0,     -- how long it keeps the personal values in its log; 0 is permanently
    created_at            BIGINT NOT NULL
);
CREATE UNIQUE INDEX organization_slug ON organization (slug);
CREATE INDEX organization_retention ON organization (id) WHERE audit_retention_days > 0;

-- People and machine clients: all that can have a session and a role.
CREATE TABLE account (
    id             TEXT PRIMARY KEY,
    kind           TEXT NOT NULL,
    email          TEXT NOT NULL,
    -- For whom the address is verified as the person's: '*' for all organizations (by an operator, a delivered mail
    -- or an identity provider), the id of one whose invitation was handed over by hand, or '' for none.
    email_proof    TEXT NOT NULL,
    name           TEXT NOT NULL,
    status         TEXT NOT NULL,
    home_org_id    TEXT REFERENCES organization (id),
    awaits_home    BOOLEAN NOT NULL DEFAULT FALSE, -- created by an invitation: the home is where it first accepts one
    password_hash  TEXT,
    secret_hash    TEXT,                     -- of a machine client
    secret_seen_by TEXT,                     -- who was shown the current secret; NULL if an operator created the client
    made_by        TEXT,                     -- who created a machine client, and cannot approve its requests
    scope          TEXT NOT NULL DEFAULT '', -- of a machine client: see api_key
    -- Raised by each change of how a person signs in, and when they are disabled. What began with an earlier version and is
    -- not complete, such as a sign-in that waits for a code, ends.
    credential_version BIGINT NOT NULL DEFAULT 0,
    last_used_at   BIGINT,
    created_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX account_email ON account (email) WHERE email <> '';
CREATE INDEX account_secret_seen_by ON account (secret_seen_by) WHERE secret_seen_by IS NOT NULL;
CREATE INDEX account_made_by ON account (made_by) WHERE made_by IS NOT NULL;

CREATE TABLE organization_member (
    organization_id TEXT NOT NULL REFERENCES organization (id),
    account_id      TEXT NOT NULL REFERENCES account (id),
    role            TEXT NOT NULL,
    origin_id       TEXT, -- as in workspace_member
    PRIMARY KEY (account_id, organization_id)
) {without rowid};
CREATE INDEX organization_member_organization ON organization_member (organization_id, account_id);
CREATE INDEX organization_member_origin ON organization_member (origin_id, organization_id) WHERE origin_id IS NOT NULL;

-- Suspended ownership is recorded only here.
CREATE TABLE suspended_owner (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL, -- the compromised key
    suspended_at    BIGINT NOT NULL,
    suspended_by    TEXT,
    state           TEXT NOT NULL, -- suspended, confirmed or removed
    decided_by      TEXT,
    decided_at      BIGINT
);
CREATE INDEX suspended_owner_open ON suspended_owner (organization_id, id) WHERE state = 'suspended';
CREATE INDEX suspended_owner_account ON suspended_owner (account_id) WHERE state = 'suspended';

-- Tables with millions of rows refer to a workspace by its number, because its id is 29 bytes.
CREATE TABLE workspace (
    id              TEXT PRIMARY KEY,
    number          INTEGER NOT NULL,
    organization_id TEXT NOT NULL REFERENCES organization (id),
    name            TEXT NOT NULL,
    slug            TEXT NOT NULL,
    on_duplicate    TEXT NOT NULL DEFAULT 'allow', -- for an entry that may be a duplicate: allow, warn or refuse
    member_version  BIGINT NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspace_slug ON workspace (organization_id, slug);
CREATE UNIQUE INDEX workspace_number ON workspace (number);

-- The number of the newest workspace, in the only row. No number is assigned twice, not even after its workspace is
-- deleted, because rows of the audit log outlive what they are about.
CREATE TABLE workspace_counter (last_number INTEGER NOT NULL);
INSERT INTO workspace_counter (last_number) VALUES (0);

-- Members, and invitations that are not accepted yet.
CREATE TABLE workspace_member (
    workspace_id          TEXT NOT NULL REFERENCES workspace (id),
    account_id            TEXT NOT NULL REFERENCES account (id),
    member_id             TEXT NOT NULL, -- in lists: the id of the invitation until it is accepted, and then that of the account
    accepted              BOOLEAN NOT NULL DEFAULT FALSE,
    invitation_id         TEXT,
    invited_by            TEXT,
    invitation_expires_at BIGINT,
    given_by              TEXT, -- who gave the membership, and with which API key
    given_key_id          TEXT,
    origin_id             TEXT, -- the keys through which it came, in access_origin
    joined_at             BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account_id)
) {without rowid};
CREATE INDEX workspace_member_account ON workspace_member (account_id, workspace_id);
CREATE UNIQUE INDEX workspace_member_listed ON workspace_member (workspace_id, member_id);
CREATE UNIQUE INDEX workspace_member_invitation ON workspace_member (invitation_id) WHERE invitation_id IS NOT NULL;
CREATE INDEX workspace_member_invited ON workspace_member (account_id, invitation_id) WHERE accepted = FALSE;
CREATE INDEX workspace_member_given ON workspace_member (given_by) WHERE accepted = FALSE;
CREATE INDEX workspace_member_origin ON workspace_member (origin_id, workspace_id) WHERE origin_id IS NOT NULL;

-- Active members: no one is in a workspace who has not agreed to it.
CREATE VIEW live_member AS
    SELECT m.workspace_id, m.account_id, m.joined_at, w.organization_id
    FROM workspace_member m JOIN workspace w ON w.id = m.workspace_id
    WHERE m.accepted = TRUE;

-- The custom roles of a workspace.
CREATE TABLE workspace_role (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    role         TEXT NOT NULL,
    name         TEXT NOT NULL,
    color        TEXT NOT NULL,
    permissions  TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, role)
);

-- The roles of members: built-in ones, or some of workspace_role.
CREATE TABLE member_role (
    workspace_id   TEXT NOT NULL,
    account_id     TEXT NOT NULL,
    role           TEXT NOT NULL,
    granted_at     BIGINT NOT NULL,
    by_two         BOOLEAN NOT NULL DEFAULT FALSE, -- given by two people
    not_before     BIGINT NOT NULL,                -- it does not count for approvals before this
    given_by       TEXT,                           -- as in workspace_member
    given_key_id   TEXT,
    origin_id      TEXT,
    PRIMARY KEY (workspace_id, account_id, role),
    FOREIGN KEY (workspace_id, account_id) REFERENCES workspace_member (workspace_id, account_id) ON DELETE CASCADE
) {without rowid};
CREATE INDEX member_role_role ON member_role (workspace_id, role, account_id);
CREATE INDEX member_role_given ON member_role (given_by) WHERE given_by IS NOT NULL;
CREATE INDEX member_role_origin ON member_role (origin_id, workspace_id) WHERE origin_id IS NOT NULL;

-- Sets of API keys through which access came: the key with which it was given, and those through which its giver had come. A set stays when
-- the giver leaves, and equal sets have one id. Access that came through a compromised key is suspended.
CREATE TABLE access_origin (
    id     TEXT NOT NULL,
    key_id TEXT NOT NULL,
    PRIMARY KEY (id, key_id)
) {without rowid};
CREATE INDEX access_origin_key ON access_origin (key_id, id);

-- Suspended memberships and roles are recorded only here, so nothing else depends on suspension.
CREATE TABLE suspended_access (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES account (id),
    key_id       TEXT NOT NULL, -- the compromised key
    kind         TEXT NOT NULL, -- member or role
    roles        TEXT NOT NULL, -- separated by spaces
    suspended_at BIGINT NOT NULL,
    suspended_by TEXT,
    state        TEXT NOT NULL, -- suspended, confirmed or removed
    decided_by   TEXT,
    decided_at   BIGINT
);
CREATE INDEX suspended_access_open ON suspended_access (workspace_id, id) WHERE state = 'suspended';
CREATE INDEX suspended_access_account ON suspended_access (account_id) WHERE state = 'suspended';

--
-- # Credentials
--

-- The keys that sign tokens.
CREATE TABLE signing_key (
    id          TEXT PRIMARY KEY,
    seed_sealed {bytes},
    sealed_by   BIGINT REFERENCES vault_key (id),
    created_at  BIGINT NOT NULL,
    retired_at  BIGINT
);
CREATE INDEX signing_key_key ON signing_key (sealed_by, id);

CREATE TABLE api_key (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    name          TEXT NOT NULL,
    hash          TEXT NOT NULL,
    -- The limits of the credential, as JSON (audit.Scope): its permissions, workspaces and mode of money, and whether it may
    -- administer. '' is no limit, without administering.
    scope         TEXT NOT NULL,
    allowed_cidrs TEXT NOT NULL,
    one_factor    BOOLEAN NOT NULL,              -- created without a second factor while an organization of its owner required
                                                 -- one: not valid in organizations that require one
    parent_id     TEXT REFERENCES api_key (id),  -- created in a session that depends on this key, so it depends on it as well
    rotated_from  TEXT,                          -- if this one is compromised, access through its successor is suspended, too
    lifetime      BIGINT,                        -- passed on by rotation, which shortens expires_at
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT,
    last_used_at  BIGINT,
    revoked_at    BIGINT
);
CREATE UNIQUE INDEX api_key_hash ON api_key (hash);
CREATE INDEX api_key_account ON api_key (account_id, id) WHERE revoked_at IS NULL;
CREATE INDEX api_key_parent ON api_key (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX api_key_rotated ON api_key (rotated_from) WHERE rotated_from IS NOT NULL;

-- The API key that the current secret of a machine client depends on, because a session of that key was shown it.
ALTER TABLE account ADD COLUMN secret_key_id TEXT REFERENCES api_key (id);

-- The keys with which secrets of a machine client were created, including replaced secrets.
CREATE TABLE client_secret_key (
    key_id    TEXT NOT NULL REFERENCES api_key (id),
    client_id TEXT NOT NULL REFERENCES account (id),
    PRIMARY KEY (key_id, client_id)
) {without rowid};

-- API keys that another person may have used.
CREATE TABLE compromised_key (
    id          TEXT PRIMARY KEY REFERENCES api_key (id),
    reported_at BIGINT NOT NULL
);

-- Sessions. Those of browsers have a secret in a cookie instead of a signed token, and end after inactivity.
CREATE TABLE session (
    id            TEXT PRIMARY KEY,
    account_id    TEXT NOT NULL REFERENCES account (id),
    api_key_id    TEXT REFERENCES api_key (id), -- the key that it depends on: exchanged for it, or that of the approver of its device code
    actor_type    TEXT NOT NULL,
    secret_hash   TEXT,
    method        TEXT NOT NULL,
    second_factor BOOLEAN NOT NULL, -- the person used one when the session began, or set up their first one in it
    scope         TEXT NOT NULL,    -- of the credential that started it
    ip            TEXT NOT NULL,
    agent         TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    last_seen_at  BIGINT,
    revoked_at    BIGINT
);
CREATE INDEX session_live ON session (account_id, id) WHERE revoked_at IS NULL;
CREATE UNIQUE INDEX session_secret ON session (secret_hash) WHERE secret_hash IS NOT NULL;
CREATE INDEX session_api_key ON session (api_key_id) WHERE api_key_id IS NOT NULL;
CREATE INDEX session_expiry ON session (expires_at);

-- Codes that a command line shows and a signed-in person approves.
CREATE TABLE device_code (
    code          TEXT PRIMARY KEY,
    id            TEXT NOT NULL,
    intent        TEXT NOT NULL,
    challenge     TEXT NOT NULL,
    ip            TEXT NOT NULL,
    agent         TEXT NOT NULL,
    status        TEXT NOT NULL,
    account_id    TEXT REFERENCES account (id),
    api_key_id    TEXT REFERENCES api_key (id),
    second_factor BOOLEAN NOT NULL DEFAULT FALSE, -- of the session that approved it
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    credential_version BIGINT,                    -- of the account when it was approved
    approved_at   BIGINT, -- the sign-in time of the resulting session: collecting the code late does not make it later
    finished_at   BIGINT
);
CREATE INDEX device_code_expiry ON device_code (expires_at);
CREATE INDEX device_code_approved ON device_code (account_id) WHERE status = 'approved';

-- Single-use links: to accept an invitation to a workspace or, without one, to set up how a person signs in.
CREATE TABLE account_link (
    id             TEXT PRIMARY KEY,
    account_id     TEXT NOT NULL REFERENCES account (id),
    workspace_id   TEXT REFERENCES workspace (id),
    hash           TEXT NOT NULL,
    mailed         BOOLEAN NOT NULL, -- the copy that was mailed to the address itself; using one ends the others of the same purpose
    keep_keys      BOOLEAN NOT NULL, -- the operator keeps the API keys, which the link otherwise revokes
    made_by        TEXT NOT NULL,    -- the name of the creator
    made_by_id     TEXT,             -- who was shown the link, or had it mailed; a shown link is valid as long as they may invite
    made_by_key_id TEXT REFERENCES api_key (id), -- the key that it depends on, because a session of that key was shown it
    -- Of the account when the link was made. Only a link that sets up how a person signs in depends on it: whoever holds the account
    -- cannot end an invitation.
    credential_version BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    used_at        BIGINT
);
CREATE UNIQUE INDEX account_link_hash ON account_link (hash);
CREATE INDEX account_link_account ON account_link (account_id);
CREATE INDEX account_link_expiry ON account_link (expires_at);
CREATE INDEX account_link_open_by ON account_link (made_by_id) WHERE used_at IS NULL AND made_by_id IS NOT NULL;

--
-- # Signing in
--

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

-- Authenticator apps.
CREATE TABLE totp (
    account_id    TEXT PRIMARY KEY REFERENCES account (id),
    secret_sealed {bytes},
    sealed_by     BIGINT REFERENCES vault_key (id),
    last_step     BIGINT NOT NULL, -- the time step of the last code that was used: no code is valid twice
    created_at    BIGINT NOT NULL
);
CREATE INDEX totp_key ON totp (sealed_by, account_id);

CREATE TABLE recovery_code (
    account_id TEXT NOT NULL REFERENCES account (id),
    hash       TEXT NOT NULL,
    used_at    BIGINT,
    PRIMARY KEY (account_id, hash)
) {without rowid};

-- The accounts of users of an identity provider. An address may be another person's next year. issuer and subject
-- never change, so an account belongs to the first user that signs in to it.
CREATE TABLE sso_identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES account (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
) {without rowid};
CREATE UNIQUE INDEX sso_identity_account ON sso_identity (account_id, issuer);

-- The browsers that a person has signed in from. Each has an id in a cookie, of which the store has a hash.
CREATE TABLE known_browser (
    account_id TEXT NOT NULL REFERENCES account (id),
    hash       TEXT NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash)
) {without rowid};

--
-- # The directory
--

-- Payees. Columns of a fixed width come first, so that PostgreSQL needs no padding.
CREATE TABLE directory_entry (
    id               {uuid} NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    deleted_at       BIGINT,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    label_sent       BOOLEAN NOT NULL,
    merged_into      {uuid}, -- such an entry is hidden like a deleted one, but readable under its id, and neither restored nor purged
    type             TEXT NOT NULL,
    status           TEXT NOT NULL,
    label            TEXT NOT NULL,
    name             TEXT NOT NULL,
    external_id      TEXT,    -- the id in another system
    email_key        TEXT,    -- with phone_key, the e-mail address and phone number by which it is found: see engine.MatchKey
    phone_key        TEXT,
    name_key         TEXT,    -- the folded name by which two entries may be duplicates: see db.NameKey
    label_key        {bytes}, -- the sort key of lists by name: see label_key.go
    fields           TEXT NOT NULL,
    words            TEXT NOT NULL
);
-- For a page of a workspace, PostgreSQL prefers an index of the id, and skips the rows of all other workspaces. For a quiet
-- workspace, that is every row. So the index that keeps ids unique must not have the order of a page. A page has the newest
-- first, and in that order NULL comes first. Read backward, this index has NULL last. There are no NULLs, but PostgreSQL treats
-- it as a different order.
CREATE UNIQUE INDEX directory_entry_id ON directory_entry (id {nulls first});
CREATE INDEX directory_entry_newest ON directory_entry (workspace_number, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type ON directory_entry (workspace_number, type, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_status ON directory_entry (workspace_number, status, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_type_status ON directory_entry (workspace_number, type, status, id) WHERE deleted_at IS NULL;
-- One for each order of the directory. They begin with type and status, which have few values. A list without these filters
-- is merged from the lists of all values.
CREATE INDEX directory_entry_label ON directory_entry (workspace_number, type, status, label_key, id) WHERE deleted_at IS NULL;
CREATE INDEX directory_entry_updated ON directory_entry (workspace_number, type, status, updated_at, id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX directory_entry_external ON directory_entry (workspace_number, external_id)
    WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_email ON directory_entry (workspace_number, email_key) WHERE email_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_phone ON directory_entry (workspace_number, phone_key) WHERE phone_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_name ON directory_entry (workspace_number, name_key) WHERE name_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX directory_entry_merged ON directory_entry (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX directory_entry_deleted ON directory_entry (deleted_at) WHERE deleted_at IS NOT NULL AND merged_into IS NULL;
CREATE INDEX directory_entry_bin ON directory_entry (workspace_number, id) WHERE deleted_at IS NOT NULL AND merged_into IS NULL;

-- Words that are too common in a workspace for a search to start with them. A word stays here permanently, and
-- entries are no longer indexed under it. The words of entries are in directory_word.
CREATE TABLE directory_common_word (
    workspace_number INTEGER NOT NULL,
    word             TEXT NOT NULL,
    PRIMARY KEY (workspace_number, word)
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

-- The tags of entries.
CREATE TABLE directory_entry_tag (
    entry_id {uuid} NOT NULL REFERENCES directory_entry (id) ON DELETE CASCADE,
    tag_id   TEXT NOT NULL REFERENCES directory_tag (id) ON DELETE CASCADE,
    live     BOOLEAN NOT NULL, -- FALSE while the entry is deleted, so that a page by tag need not skip deleted entries
    PRIMARY KEY (entry_id, tag_id)
) {without rowid};
CREATE INDEX directory_entry_tag_newest ON directory_entry_tag (tag_id, live, entry_id);

-- Bank accounts and wallets of payees. One can be paid when it is active and payable_at has come. The default depends on a time
-- as well, so that no job has to run at that moment. It is the payable method with the greatest default_since that has come.
CREATE TABLE receiving_method (
    id               TEXT PRIMARY KEY,
    entry_id         {uuid} NOT NULL REFERENCES directory_entry (id) ON DELETE CASCADE,
    provider         TEXT NOT NULL,
    institution_code TEXT NOT NULL DEFAULT '',
    account_name     TEXT NOT NULL,
    account_sealed   {bytes},
    account_key      {bytes}, -- finds equal numbers: see vault.Lookups
    tail_key         {bytes}, -- finds a number by its last four digits: see vault.Tail; empty for a number that has none
    sealed_by        BIGINT REFERENCES vault_key (id),
    status           TEXT NOT NULL DEFAULT 'active',
    replaces         TEXT, -- the method that it retires once it is payable
    payable_at       BIGINT NOT NULL DEFAULT 0,
    default_since    BIGINT,
    settled          BOOLEAN NOT NULL DEFAULT TRUE, -- the log records that it is payable
    version          BIGINT NOT NULL DEFAULT 1,
    created_at       BIGINT NOT NULL
);
CREATE INDEX receiving_method_entry ON receiving_method (entry_id, id);
CREATE INDEX receiving_method_account ON receiving_method (account_key);
CREATE INDEX receiving_method_tail ON receiving_method (tail_key, entry_id);
CREATE INDEX receiving_method_cooling ON receiving_method (payable_at) WHERE settled = FALSE;
CREATE INDEX receiving_method_key ON receiving_method (sealed_by, id);

-- All receiving methods that an entry has ever had. The rows stay when methods are removed and when the entry is purged.
-- Rows of the log name only the method, and the history of an entry includes all of its methods.
CREATE TABLE entry_method_log (
    entry_id  {uuid} NOT NULL,
    method_id TEXT NOT NULL,
    PRIMARY KEY (entry_id, method_id)
) {without rowid};

-- A change of a payee's identity or activation that waits for a second person. A requested external id is reserved as
-- soon as the change waits.
CREATE TABLE pending_identity (
    entry_id         {uuid} PRIMARY KEY NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    approval_id      TEXT NOT NULL,
    external_id      TEXT,         -- NULL if it is unchanged, or there is none
    change           TEXT NOT NULL -- JSON: the identity before and after
);
CREATE UNIQUE INDEX pending_identity_external ON pending_identity (workspace_number, external_id) WHERE external_id IS NOT NULL;

-- Merges of entries into one.
CREATE TABLE directory_merge (
    id               TEXT PRIMARY KEY NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    target_id        {uuid} NOT NULL,
    sources          TEXT NOT NULL, -- JSON: their ids
    state_sealed     {bytes},       -- the entries before the merge, and the merged one; NULL once it can no longer be undone
    sealed_by        BIGINT REFERENCES vault_key (id),
    created_at       BIGINT NOT NULL,
    undone_at        BIGINT NOT NULL -- 0 until then
);
CREATE INDEX directory_merge_newest ON directory_merge (workspace_number, id);
CREATE INDEX directory_merge_target ON directory_merge (target_id, id);
CREATE INDEX directory_merge_undoable ON directory_merge (created_at) WHERE sealed_by IS NOT NULL;
CREATE INDEX directory_merge_key ON directory_merge (sealed_by);

-- Imports of files. The node that works on one holds a lease, so that another node takes over if it dies. position
-- records progress, in the same transaction as the work.
CREATE TABLE directory_import (
    id               TEXT PRIMARY KEY NOT NULL,
    workspace_id     TEXT NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    status           TEXT NOT NULL, -- uploading, queued, running, completed, failed, cancelled
    options          TEXT NOT NULL, -- JSON
    actor            TEXT NOT NULL, -- JSON: the requester and the credential
    bytes            BIGINT NOT NULL,
    position         BIGINT NOT NULL, -- in bytes
    position_lines   BIGINT NOT NULL, -- lines that end before it
    lines            BIGINT NOT NULL,
    created          BIGINT NOT NULL,
    updated          BIGINT NOT NULL,
    unchanged        BIGINT NOT NULL,
    refused          BIGINT NOT NULL,
    reason           TEXT NOT NULL, -- why it failed
    node             TEXT NOT NULL, -- the node that works on it
    lease_until      BIGINT NOT NULL, -- of the node, or when it was queued
    created_at       BIGINT NOT NULL,
    started_at       BIGINT NOT NULL, -- 0 until then
    ended_at         BIGINT NOT NULL  -- 0 until then
);
CREATE INDEX directory_import_newest ON directory_import (workspace_number, id);
CREATE INDEX directory_import_open ON directory_import (workspace_number, id) WHERE ended_at = 0;
CREATE INDEX directory_import_due ON directory_import (lease_until, id) WHERE ended_at = 0;
CREATE INDEX directory_import_ended ON directory_import (ended_at) WHERE ended_at > 0;

-- The import of each organization that was claimed last, and when. Organizations take turns at the slots of all nodes and
-- have one slot at a time. So the row is locked while an import of its organization is claimed.
CREATE TABLE directory_import_turn (
    organization_id TEXT PRIMARY KEY,
    import_id       TEXT NOT NULL,
    taken_at        BIGINT NOT NULL
);

-- The parts of an import. They may contain account numbers, so they are sealed.
CREATE TABLE directory_import_chunk (
    import_id   TEXT NOT NULL REFERENCES directory_import (id) ON DELETE CASCADE,
    part        TEXT NOT NULL, -- file (until the import ends), refused (its lines), plan (of a rehearsal: the result of each line)
    number      BIGINT NOT NULL,
    body_sealed {bytes} NOT NULL,
    sealed_by   BIGINT NOT NULL REFERENCES vault_key (id),
    PRIMARY KEY (import_id, part, number)
);
CREATE INDEX directory_import_chunk_key ON directory_import_chunk (sealed_by);

-- The changes of an import or a bulk that need a second person, line by line: see directory.job. All lines of a job have
-- one approval, whose subject is the job.
CREATE TABLE directory_import_line (
    id              TEXT PRIMARY KEY NOT NULL,
    import_id       TEXT NOT NULL,
    line            BIGINT NOT NULL, -- of the file, which may change several things
    kind            TEXT NOT NULL,
    subject_id      TEXT NOT NULL,   -- the receiving method
    subject_version BIGINT NOT NULL,
    entry_id        TEXT NOT NULL,   -- as in approval.about_id
    state           TEXT NOT NULL,   -- pending, then that of the approval once it is carried out; left_out; void: the entry has changed
    new_payee       BOOLEAN NOT NULL,
    shared_account  BOOLEAN NOT NULL,
    changed         BOOLEAN NOT NULL,
    name_differs    BOOLEAN NOT NULL,
    payload_sealed  {bytes} NOT NULL, -- what is shown to the approver, with account numbers
    sealed_by       BIGINT NOT NULL REFERENCES vault_key (id)
);
CREATE INDEX directory_import_line_order ON directory_import_line (import_id, line, id);
CREATE INDEX directory_import_line_pending ON directory_import_line (import_id, kind DESC, line, id) WHERE state = 'pending';
CREATE INDEX directory_import_line_new ON directory_import_line (import_id, line, id) WHERE new_payee = TRUE;
CREATE INDEX directory_import_line_shared ON directory_import_line (import_id, line, id) WHERE shared_account = TRUE;
CREATE INDEX directory_import_line_changed ON directory_import_line (import_id, line, id) WHERE changed = TRUE;
CREATE INDEX directory_import_line_name ON directory_import_line (import_id, line, id) WHERE name_differs = TRUE;
CREATE INDEX directory_import_line_subject ON directory_import_line (subject_id, state);
CREATE INDEX directory_import_line_entry ON directory_import_line (entry_id, state);
CREATE INDEX directory_import_line_key ON directory_import_line (sealed_by, id);

-- Decisions about the lines of a job that are not fully carried out yet.
CREATE TABLE directory_import_decision (
    approval_id      TEXT PRIMARY KEY NOT NULL,
    import_id        TEXT NOT NULL,
    workspace_id     TEXT NOT NULL,
    workspace_number BIGINT NOT NULL,
    state            TEXT NOT NULL,
    actor            TEXT NOT NULL,
    requested_by     TEXT NOT NULL,
    verification     TEXT NOT NULL,
    reason           TEXT NOT NULL,
    left_out         TEXT NOT NULL, -- JSON: the lines that the approver left out
    cooling_hours    BIGINT NOT NULL,
    claim            TEXT NOT NULL, -- the token of the node that works on it
    lease_until      BIGINT NOT NULL
);
CREATE INDEX directory_import_decision_due ON directory_import_decision (lease_until, approval_id);

--
-- # Approvals
--

-- Requests of one person that others approve: see internal/approval.
CREATE TABLE approval (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspace (id),
    kind            TEXT NOT NULL,
    mode            TEXT NOT NULL, -- of the money that it is about, '' for none or both: hidden from credentials of the other mode
    subject_id      TEXT NOT NULL,
    subject_version BIGINT NOT NULL,
    about_id        TEXT NOT NULL, -- the id in the path of the subject's page: the directory entry of a receiving method
    digest          TEXT NOT NULL, -- of the payload and a random salt; without it, account numbers could be guessed
    payload_sealed  {bytes},       -- what was shown to both, with account numbers
    sealed_by       BIGINT REFERENCES vault_key (id),
    maker_id        TEXT NOT NULL,
    maker           TEXT NOT NULL,
    involved        TEXT NOT NULL, -- the accounts that own or created what the maker used, with spaces around each
    needed          BIGINT NOT NULL, -- how many people
    votes           BIGINT NOT NULL DEFAULT 0,
    role            TEXT NOT NULL, -- the role that they need
    keys_may        BOOLEAN NOT NULL, -- API keys may vote
    state           TEXT NOT NULL,
    told            TEXT NOT NULL, -- the last state that was mailed
    revision        BIGINT NOT NULL DEFAULT 0, -- how often lines were removed from it: covered by the digest that an approver sends
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

-- The approvals of an approval request, each with its session or API key.
CREATE TABLE approval_vote (
    approval_id  TEXT NOT NULL REFERENCES approval (id) ON DELETE CASCADE,
    account_id   TEXT NOT NULL REFERENCES account (id),
    at           BIGINT NOT NULL,
    verification TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    mac          {bytes}, -- a vote that was written without the program does not count: see db.Integrity
    PRIMARY KEY (approval_id, account_id)
) {without rowid};

-- How many people a workspace requires for a change of a payee's receiving methods, and who counts as a
-- second person: see internal/access/doc.go.
CREATE TABLE receiving_policy (
    workspace_id        TEXT PRIMARY KEY REFERENCES workspace (id),
    approval            TEXT NOT NULL,
    cooling_hours       BIGINT,                         -- NULL for the default
    two_seen_at         BIGINT NOT NULL,                -- when the workspace last had two people who could change methods; 0 is never
    payouts_seen_at     BIGINT NOT NULL DEFAULT 0,      -- the same for payouts
    second_person_hours BIGINT,                         -- how long the requirement outlives the last second person; NULL for the default
    made_alone          BOOLEAN NOT NULL DEFAULT FALSE, -- one person set it while no other could approve
    members_changed     BOOLEAN NOT NULL DEFAULT FALSE, -- until it is checked whether a change has left no second person
    appointed           TEXT,                           -- approvers whom operators have appointed, until approvers and owners are mailed
    extended_at         BIGINT NOT NULL DEFAULT 0,      -- when the requirement was last extended; 0 is never
    version             BIGINT NOT NULL
);
CREATE INDEX receiving_policy_members_changed ON receiving_policy (workspace_id) WHERE members_changed = TRUE;

-- The approvers, for each pair of permissions: receiving methods, and payouts.
CREATE TABLE approver (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    pair         TEXT NOT NULL,
    account_id   TEXT NOT NULL REFERENCES account (id),
    since        BIGINT NOT NULL, -- 0 for approvers at the time when the workspace first had two
    not_before   BIGINT NOT NULL, -- an approver who joined while there was no second person does not count before this
    gone_at      BIGINT,          -- when their removal was noticed
    PRIMARY KEY (workspace_id, pair, account_id)
) {without rowid};

--
-- # The ledger of account balances: see internal/ledger
--

-- A positive balance of a customer is money that can be paid out. The bank's account is what the bank owes us, the other
-- side of all customers' balances. It may be above zero, because a bank statement is booked even if more money left the
-- bank than the books show. An account has at most 10^18 in any bucket, so that no sum exceeds 64 bits: SQLite would
-- continue with floating point.
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
    version      BIGINT NOT NULL, -- changes with name and status
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL, -- grows even if the clock goes back, so that the times of postings do
    CHECK ((workspace_id IS NULL) = (kind <> 'customer')),
    CHECK (reserved BETWEEN 0 AND 1000000000000000000 AND pending BETWEEN 0 AND 1000000000000000000),
    CHECK (kind = 'customer' OR reserved = 0 AND pending = 0),
    CHECK (available BETWEEN CASE WHEN kind IN ('bank', 'suspense') THEN -1000000000000000000 ELSE 0 END AND 1000000000000000000),
    CHECK (status <> 'closed' OR available = 0 AND reserved = 0 AND pending = 0)
);
CREATE INDEX ledger_account_workspace ON ledger_account (workspace_id, id);
-- A change of a payee with a sandbox credential reads whether the workspace has a live account.
CREATE INDEX ledger_account_live ON ledger_account (workspace_id) WHERE mode = 'live';

-- Movements of money, whose postings sum to zero. Triggers make transactions and postings immutable.
CREATE TABLE ledger_transaction (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT,          -- NULL if it belongs to none
    kind         TEXT NOT NULL,
    reference    TEXT NOT NULL, -- the payout, transfer or deposit that it is for
    description  TEXT NOT NULL,
    mac          {bytes},       -- that only the program can compute: see db.Integrity
    created_at   BIGINT NOT NULL
) {without rowid};
CREATE INDEX ledger_transaction_reference ON ledger_transaction (reference, id);

-- The effect of a transaction on a bucket of an account. Postings of an account are numbered from 1 without gaps, and
-- their times never go back.
CREATE TABLE ledger_posting (
    account_id     TEXT NOT NULL REFERENCES ledger_account (id),
    number         BIGINT NOT NULL CHECK (number > 0),
    transaction_id TEXT NOT NULL,
    bucket         TEXT NOT NULL CHECK (bucket IN ('available', 'reserved', 'pending')),
    amount         BIGINT NOT NULL CHECK (amount <> 0),
    balance        BIGINT NOT NULL, -- of the bucket after it
    created_at     BIGINT NOT NULL,
    PRIMARY KEY (account_id, number)
) {without rowid};
CREATE INDEX ledger_posting_transaction ON ledger_posting (transaction_id, account_id, number);
-- An account that only receives has few of these postings; most of its postings are in available.
CREATE INDEX ledger_posting_bucket ON ledger_posting (account_id, bucket, number) WHERE bucket <> 'available';

-- Deposits: announced by a bank (pending) or booked.
CREATE TABLE ledger_deposit (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES ledger_account (id),
    amount       BIGINT NOT NULL CHECK (amount > 0),
    source       TEXT NOT NULL,
    reference    TEXT NOT NULL, -- the bank's reference, or the operator's
    status       TEXT NOT NULL CHECK (status IN ('pending', 'booked')),
    created_at   BIGINT NOT NULL,
    booked_at    BIGINT -- NULL until then
);
CREATE INDEX ledger_deposit_workspace ON ledger_deposit (workspace_id, id);
CREATE INDEX ledger_deposit_account ON ledger_deposit (account_id, id);
CREATE INDEX ledger_deposit_reference ON ledger_deposit (account_id, reference);

--
-- # Rails
--

-- The simulated state of rails, institutions and the simulator in the sandbox of a workspace: see internal/rail. A
-- service without a row is up.
CREATE TABLE simulated_service (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    service      TEXT NOT NULL,
    status       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    since        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, service)
) {without rowid};

-- The payments that the simulator has accepted: see internal/rail/simulator. It is the bank's side, so no other table refers
-- to it, and it shows whether a payout was paid twice.
CREATE TABLE simulated_payment (
    end_to_end_id TEXT PRIMARY KEY,
    payout_id     TEXT NOT NULL,
    submission    BIGINT NOT NULL DEFAULT 1,
    rail          TEXT NOT NULL,
    amount        BIGINT NOT NULL,
    currency      TEXT NOT NULL,
    digits        TEXT NOT NULL, -- the last four of the account number, which select the simulated behavior; '' if they select none
    state         TEXT NOT NULL,
    code          TEXT NOT NULL,
    return_code   TEXT NOT NULL,
    taken_at      BIGINT NOT NULL,
    tell          TEXT,  -- the bank's pending notice about the payment, which is due at due_at; NULL if there is none
    due_at        BIGINT
) {without rowid};
CREATE INDEX simulated_payment_due ON simulated_payment (due_at, end_to_end_id) WHERE due_at IS NOT NULL;

-- Notices of connectors, so that each one is applied once.
CREATE TABLE rail_notice (
    connector  TEXT NOT NULL,
    message_id TEXT NOT NULL,
    entry_id   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    payout_id  TEXT,
    taken_at   BIGINT NOT NULL,
    PRIMARY KEY (connector, message_id, entry_id)
) {without rowid};
-- The references of earlier returns show whether a return is a repeated notice or a second return of the payout.
CREATE INDEX rail_notice_returned ON rail_notice (payout_id) WHERE kind = 'returned';

--
-- # Payouts: see internal/payout
--

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
    name_key         TEXT NOT NULL, -- the name of the payee in lower case, for searches
    account_sealed   {bytes},       -- the number of the destination account
    sealed_by        BIGINT REFERENCES vault_key (id),
    destination_key  {bytes},       -- finds the number by a keyed hash
    batch_id         TEXT,
    status           TEXT NOT NULL,
    attention        TEXT NOT NULL,
    failure_code     TEXT NOT NULL,
    failure_reason   TEXT NOT NULL,
    failure_text     TEXT NOT NULL,
    cancel_reason    TEXT NOT NULL,
    maker_id         TEXT NOT NULL,
    involved         TEXT NOT NULL, -- the ids of all accounts that took part in it
    approval_id      TEXT,
    approval_why     TEXT NOT NULL, -- why it needs approval, or why not, in words
    approvals_needed BIGINT NOT NULL DEFAULT 0, -- as of when its money was reserved
    recheck_id       TEXT,                      -- the approval that releases a held payout
    overrides        TEXT NOT NULL DEFAULT '',  -- the limits and rules that were overridden for it
    terms_mac        {bytes},                   -- over the approved terms, computed when its money is reserved: see db.Integrity
    attempts         BIGINT NOT NULL,
    reserved_at      BIGINT NOT NULL, -- when its money was last reserved
    counted_at       BIGINT NOT NULL DEFAULT 0, -- when it was counted for rules by sum; 0 is never
    send_at          BIGINT NOT NULL, -- when a pending one is sent
    expected_at      BIGINT NOT NULL,
    version          BIGINT NOT NULL, -- counts the changes of a draft; an approval is bound to it
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    ended_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_external ON payout (workspace_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX payout_newest ON payout (workspace_id, id);
CREATE INDEX payout_status ON payout (workspace_id, status, id);
CREATE INDEX payout_rail ON payout (workspace_id, rail, id);
-- The condition limits it to lists: PostgreSQL would otherwise use it to find pending payouts.
CREATE INDEX payout_mode ON payout (workspace_id, mode, id) WHERE status <> '';
CREATE INDEX payout_account ON payout (account_id, id);
CREATE INDEX payout_name ON payout (workspace_id, name_key, id);
CREATE INDEX payout_entry ON payout (entry_id, id) WHERE entry_id IS NOT NULL;
CREATE INDEX payout_batch_member ON payout (batch_id, id) WHERE batch_id IS NOT NULL;
-- Each rail takes the payouts that are due on it. Those of an institution that is down are skipped
-- within the index.
CREATE INDEX payout_due ON payout (mode, rail, send_at, id, institution_code) WHERE status = 'pending';
CREATE INDEX payout_attention ON payout (workspace_id, id) WHERE attention <> '';
CREATE INDEX payout_recheck ON payout (recheck_id) WHERE recheck_id IS NOT NULL;
CREATE INDEX payout_closed ON payout (workspace_id, destination_key) WHERE failure_code = 'ACCOUNT_CLOSED';
CREATE INDEX payout_key ON payout (sealed_by, id);

-- Attempts to pay a payout. An attempt is stored as sending before anything is sent. An attempt that the rail has not
-- received is submitted again under the same end-to-end id, with the next submission number.
CREATE TABLE payout_attempt (
    id            TEXT PRIMARY KEY,
    payout_id     TEXT NOT NULL REFERENCES payout (id),
    number        BIGINT NOT NULL,
    end_to_end_id TEXT NOT NULL,
    submission    BIGINT NOT NULL DEFAULT 1,
    state         TEXT NOT NULL,
    code          TEXT NOT NULL,
    text          TEXT NOT NULL,
    reference     TEXT NOT NULL,
    accepted      BIGINT NOT NULL DEFAULT 0,  -- the lowest submission that the rail acknowledged: 0 is none, -1 one that it did not name
    resolved      TEXT NOT NULL DEFAULT '',   -- what a person has determined about the newest submission: '', paid or not_paid
    not_paid      BIGINT NOT NULL DEFAULT 0,  -- the highest submission that was determined not to be paid; it stays at the next one
    node          TEXT NOT NULL,
    ask_at        BIGINT NOT NULL, -- when the rail is asked for the result: sending or asking advances it, which is the lease
    asked         BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    claimed_at    BIGINT NOT NULL DEFAULT 0,  -- when the newest submission was claimed
    answered_at   BIGINT NOT NULL,
    settled_at    BIGINT NOT NULL,            -- when a bank statement has shown it, 0 before
    settled_as    TEXT NOT NULL DEFAULT ''    -- the bank's own reference of that debit; one with another reference is a second debit
);
CREATE UNIQUE INDEX payout_attempt_end_to_end ON payout_attempt (end_to_end_id);
CREATE UNIQUE INDEX payout_attempt_number ON payout_attempt (payout_id, number);
CREATE INDEX payout_attempt_open ON payout_attempt (ask_at, id) WHERE state IN ('sending', 'accepted', 'unknown');

-- Payouts that were requested together, with one approval.
CREATE TABLE payout_batch (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    account_id   TEXT NOT NULL REFERENCES ledger_account (id),
    currency     TEXT NOT NULL,
    description  TEXT NOT NULL,
    payouts      BIGINT NOT NULL,
    total        BIGINT NOT NULL,
    refused      BIGINT NOT NULL, -- how many were refused when it was created
    maker_id     TEXT NOT NULL,
    approval_id  TEXT,
    approval_why TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX payout_batch_newest ON payout_batch (workspace_id, id);

-- The number of approvers for payouts: see internal/payout/rule.go. Empty texts and NULL match every payout.
CREATE TABLE payout_rule (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspace (id),
    mode          TEXT NOT NULL DEFAULT 'both', -- of the money that it applies to
    account_id    TEXT NOT NULL,
    rail          TEXT NOT NULL,
    client_id     TEXT NOT NULL,
    client_holder TEXT, -- who had the secret of the machine client when the rule was created
    above         BIGINT,
    up_to         BIGINT,
    per           TEXT NOT NULL DEFAULT 'payout', -- what above and up_to are compared with: see internal/payout/rule_sum.go
    each_of       TEXT NOT NULL DEFAULT '',
    approvals     BIGINT NOT NULL,
    role          TEXT NOT NULL,
    keys_may      BOOLEAN NOT NULL,
    status        TEXT NOT NULL,    -- a pending one applies once it is approved
    alone         BOOLEAN NOT NULL, -- no second person has agreed to it: once one joins, it is suspended if it loosens the default
    approval_id   TEXT,             -- the approval for its start or its end
    created_at    BIGINT NOT NULL,
    active_at     BIGINT NOT NULL DEFAULT 0 -- since when it applies
);
CREATE INDEX payout_rule_workspace ON payout_rule (workspace_id, id);

-- Limits of payouts: see internal/payout/limit.go. There is one limit for each scope, whose amount can be changed.
CREATE TABLE payout_limit (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    mode         TEXT NOT NULL DEFAULT 'both', -- of the money that it applies to
    account_id   TEXT NOT NULL,
    maker_id     TEXT NOT NULL,
    entry_id     TEXT NOT NULL,
    rail         TEXT NOT NULL,
    each_of      TEXT NOT NULL,
    per          TEXT NOT NULL,
    amount       BIGINT NOT NULL,
    count        BIGINT NOT NULL, -- 0 is no limit
    version      BIGINT NOT NULL,
    approval_id  TEXT,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX payout_limit_scope ON payout_limit (workspace_id, mode, account_id, maker_id, entry_id, rail, each_of, per);
CREATE INDEX payout_limit_workspace ON payout_limit (workspace_id, id);

-- How much of a limit or a rule by sum was used on a day in Manila, for each mode and currency.
CREATE TABLE payout_counted (
    guard_id TEXT NOT NULL,
    day      BIGINT NOT NULL, -- counted from 1970-01-01
    of_id    TEXT NOT NULL,   -- the account, maker or payee that it counts for separately; '' if all share it
    mode     TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount   BIGINT NOT NULL,
    count    BIGINT NOT NULL,
    PRIMARY KEY (guard_id, day, of_id, mode, currency)
) {without rowid};
CREATE INDEX payout_counted_day ON payout_counted (day);

-- Whether sending payouts is stopped.
CREATE TABLE payout_stop (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    mode         TEXT NOT NULL,
    stopped_at   BIGINT NOT NULL, -- 0 once it was resumed
    stopped_by   TEXT NOT NULL,
    reason       TEXT NOT NULL,
    version      BIGINT NOT NULL, -- counts the stops, so that an approval to resume applies only to the stop that it was requested for
    PRIMARY KEY (workspace_id, mode)
) {without rowid};
CREATE INDEX payout_stop_standing ON payout_stop (mode, workspace_id) WHERE stopped_at > 0;

-- After a restore: the payouts that may have been sent after the moment of the archive, until their rails were queried.
-- See internal/payout/recall.go.
CREATE TABLE payout_recall (
    payout_id TEXT PRIMARY KEY REFERENCES payout (id)
) {without rowid};

-- After a restore: payments in the record of a rail that are missing in the store, because their payouts were created after
-- the moment of the archive. See internal/payout/unknown.go.
CREATE TABLE unknown_payment (
    end_to_end_id   TEXT PRIMARY KEY,
    payout_id       TEXT NOT NULL, -- this and attempt are derived from end_to_end_id
    attempt         BIGINT NOT NULL,
    submission      BIGINT NOT NULL,
    connector       TEXT NOT NULL,
    rail            TEXT NOT NULL,
    account_id      TEXT NOT NULL, -- '' if the record does not have it
    amount          BIGINT NOT NULL,
    currency        TEXT NOT NULL,
    external_hash   TEXT NOT NULL, -- of workspace and external id; '' if the record does not have it
    sent_at         BIGINT NOT NULL,
    acknowledged_at BIGINT NOT NULL -- 0 until an operator has acknowledged the payment
);
CREATE INDEX unknown_payment_open ON unknown_payment (payout_id, attempt) WHERE acknowledged_at = 0;
CREATE INDEX unknown_payment_external ON unknown_payment (external_hash);

--
-- # The audit log: see internal/auditlog. The rows are in audit_log, which each engine's own file defines
--

-- The log of each workspace, of each organization, and of the operator, whose number is 0.
CREATE TABLE audit_stream (
    number           INTEGER PRIMARY KEY,
    workspace_number INTEGER UNIQUE,
    organization_id  TEXT UNIQUE, -- both are NULL for the operator's stream
    size             BIGINT NOT NULL,
    erased_through   BIGINT NOT NULL DEFAULT 0 -- the place up to which expired rows were erased
);
INSERT INTO audit_stream (number, size) VALUES (0, 0);

-- Every row of the log gets a place soon after it was committed: in the whole log, and in its stream. Places count from 1
-- without gaps and never change, so that a reader who continues after the last place misses nothing.
CREATE TABLE audit_place (
    seq      BIGINT NOT NULL, -- the place in the stream
    position BIGINT NOT NULL, -- the place in the whole log
    audit_id {uuid} NOT NULL,
    stream   INTEGER NOT NULL,
    PRIMARY KEY (stream, seq)
) {without rowid};
CREATE UNIQUE INDEX audit_place_id ON audit_place (audit_id);
CREATE UNIQUE INDEX audit_place_position ON audit_place (position);

-- The tree over all rows of the log, in the order of their places, with which anyone can verify the log without trusting the
-- server. The only row records how far it has been built. A builder compares and swaps its size.
CREATE TABLE audit_tree (
    single     INTEGER PRIMARY KEY CHECK (single = 1),
    verifier   TEXT NOT NULL,    -- the public key that verifies the checkpoints; empty before there is one
    origin     TEXT NOT NULL,    -- the name of the log in its checkpoints
    generation INTEGER NOT NULL, -- 1, and one more with each restart
    restart    TEXT NOT NULL,    -- the checkpoint of the former log, in the first leaf; empty in the first log
    row_offset BIGINT NOT NULL,  -- the leaves before the first row: 1 after a restart
    size       BIGINT NOT NULL,  -- leaves
    rows       BIGINT NOT NULL,  -- the last position that has a leaf
    heads      BIGINT NOT NULL,
    mailed_at  BIGINT NOT NULL,  -- when a checkpoint was last mailed
    mac        TEXT NOT NULL     -- of this row and the newest head, with the key that signs the log: without that key no one
                                 -- can create a tree that servers extend
);
INSERT INTO audit_tree (single, verifier, origin, generation, restart, row_offset, size, rows, heads, mailed_at, mac)
VALUES (1, '', '', 1, '', 0, 0, 0, 0, 0, '');

-- A tile has up to 256 hashes of 32 bytes: the hashes of 256 leaves on level 0, of 256 tiles of the level below on the
-- others. Full tiles never change. (C2SP tlog-tiles.)
CREATE TABLE audit_tile (
    level  INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes {bytes} NOT NULL,
    PRIMARY KEY (level, number)
);

-- A head is a tree that can be signed. The last leaf below it commits to how many rows each stream has.
CREATE TABLE audit_head (
    number BIGINT PRIMARY KEY,
    size   BIGINT NOT NULL,
    rows   BIGINT NOT NULL,
    root   {bytes} NOT NULL,
    at     BIGINT NOT NULL
) {without rowid};
CREATE UNIQUE INDEX audit_head_rows ON audit_head (rows);

--
-- # Mail
--

-- Mail until it is delivered or given up: see internal/mail/outbox.go.
CREATE TABLE outgoing_mail (
    id             TEXT PRIMARY KEY,
    lane           TEXT NOT NULL,
    message_sealed {bytes} NOT NULL, -- it may contain a link that signs a person in
    sealed_by      BIGINT NOT NULL REFERENCES vault_key (id),
    attempts       BIGINT NOT NULL,
    claim          TEXT NOT NULL,   -- while a node delivers it: the random name of the batch that the node has claimed; otherwise ''
    due_at         BIGINT NOT NULL, -- the end of the node's lease, or when the next attempt is due
    created_at     BIGINT NOT NULL
);
CREATE INDEX outgoing_mail_due ON outgoing_mail (lane, due_at, id);
CREATE INDEX outgoing_mail_age ON outgoing_mail (created_at);
CREATE INDEX outgoing_mail_key ON outgoing_mail (sealed_by, id);

--
-- # Operators
--

-- People who operate the store.
CREATE TABLE operator (
    account_id  TEXT PRIMARY KEY REFERENCES account (id),
    permissions TEXT NOT NULL, -- ops.read, ops.money, ops.access, with spaces between
    created_at  BIGINT NOT NULL
);

-- Requests of one operator that another one confirms.
CREATE TABLE operator_request (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    subject_id   TEXT NOT NULL,
    payload      TEXT NOT NULL, -- JSON
    reference    TEXT NOT NULL, -- of a deposit, unique among pending and completed requests
    requested_by TEXT REFERENCES account (id), -- NULL for a request at the command line of the machine
    requester    TEXT NOT NULL,
    requester_version BIGINT, -- credential_version of the requester: a request ends with how they signed in
    state        TEXT NOT NULL,
    decided_by   TEXT REFERENCES account (id),
    decided_at   BIGINT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX operator_request_pending ON operator_request (id) WHERE state = 'pending';
CREATE UNIQUE INDEX operator_request_reference ON operator_request (reference) WHERE reference <> '' AND state IN ('pending', 'approved');
