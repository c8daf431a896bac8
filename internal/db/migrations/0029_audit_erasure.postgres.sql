-- How many days an organization keeps what is personal in its log; 0 is for ever.
ALTER TABLE organization ADD COLUMN audit_retention_days INTEGER NOT NULL DEFAULT 0;
CREATE INDEX organization_retention ON organization (id) WHERE audit_retention_days > 0;

-- The place up to which a log was erased because of its age.
ALTER TABLE audit_stream ADD COLUMN erased_through BIGINT NOT NULL DEFAULT 0;

-- Which receiving methods an entry has ever had. It stays when they are removed and when the
-- entry is purged, since rows of the log name only the method, and the history of an entry
-- has all of them.
CREATE TABLE entry_method_log (
    entry_id  UUID NOT NULL,
    method_id TEXT NOT NULL,
    PRIMARY KEY (entry_id, method_id)
);
INSERT INTO entry_method_log SELECT entry_id, id FROM receiving_method;
