-- How rails, institutions and the simulator are in the sandbox of a workspace, where somebody has
-- said so: see internal/rail. Whatever has no row is up. It takes the place of what held for the
-- sandboxes of all workspaces at once, which no workspace has a claim to keep.
CREATE TABLE simulated_service (
    workspace_id TEXT NOT NULL REFERENCES workspace (id),
    service      TEXT NOT NULL,
    status       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    since        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, service)
) {without rowid};
DROP TABLE service_status;
