-- What a stolen database must not tell is sealed: see internal/vault.

-- The master keys, of which the store knows the fingerprint alone. The one with the highest
-- version wraps new data keys. wrapped is the key itself as the program of --vault-command
-- has wrapped it; it is NULL for a key in a file.
CREATE TABLE vault_master (
    version     BIGINT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    wrapped     {bytes},
    created_at  BIGINT NOT NULL
);

-- The data keys of workspaces, and of the store itself, whose number is 0. One of each seals;
-- a retired one only opens. A row that is sealed refers to its key, so that the database keeps
-- a key for as long as anything needs it.
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

CREATE TABLE vault_counter (last_id BIGINT NOT NULL);
INSERT INTO vault_counter (last_id) VALUES (0);

-- Secrets of the store that there is one of.
CREATE TABLE vault_secret (
    name      TEXT PRIMARY KEY,
    sealed    {bytes},
    sealed_by BIGINT REFERENCES vault_key (id)
);
CREATE INDEX vault_secret_key ON vault_secret (sealed_by);

-- What a store of before had in clear waits here until the next start has sealed it.
CREATE TABLE vault_unsealed (
    kind             TEXT NOT NULL,
    id               TEXT NOT NULL,
    workspace_number BIGINT NOT NULL,
    value            TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);
