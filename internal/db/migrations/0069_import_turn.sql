-- When an import of an organization was last claimed. Organizations take turns at the slots of all nodes, and have one slot at a time:
-- the row is locked while an import of its organization is claimed.
CREATE TABLE directory_import_turn (
    organization_id TEXT PRIMARY KEY,
    taken_at        BIGINT NOT NULL
);
CREATE INDEX directory_import_leased ON directory_import (lease_until) WHERE ended_at = 0 AND status = 'running';
