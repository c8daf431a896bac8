-- A change of what a payee is known by, or of whether it is active, that waits for a second person. An external id that an entry
-- is to have is taken as soon as it waits.
CREATE TABLE pending_identity (
    entry_id         UUID PRIMARY KEY NOT NULL,
    workspace_number INTEGER NOT NULL REFERENCES workspace (number),
    approval_id      TEXT COLLATE "C" NOT NULL,
    external_id      TEXT COLLATE "C", -- NULL if the entry is to have the same one, or none
    change           TEXT COLLATE "C" NOT NULL -- JSON: the identity before and after
);
CREATE UNIQUE INDEX pending_identity_external ON pending_identity (workspace_number, external_id) WHERE external_id IS NOT NULL;
