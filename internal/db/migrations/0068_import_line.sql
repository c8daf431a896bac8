-- What an import or a bulk changes that takes a second person, line by line: see directory.job. All lines of a job have one
-- approval, whose subject is the job. line is the line of its file, which may change several things; subject_id is the receiving
-- method, and entry_id the entry, as approval.about_id has it. payload_sealed is what the approver is shown, with account numbers.
-- state is pending, then the state of the approval once that is carried out, or left_out, or void: the entry has changed since.
CREATE TABLE directory_import_line (
    id              TEXT PRIMARY KEY NOT NULL,
    import_id       TEXT NOT NULL,
    line            BIGINT NOT NULL,
    kind            TEXT NOT NULL,
    subject_id      TEXT NOT NULL,
    subject_version BIGINT NOT NULL,
    entry_id        TEXT NOT NULL,
    state           TEXT NOT NULL,
    new_payee       BOOLEAN NOT NULL,
    shared_account  BOOLEAN NOT NULL,
    changed         BOOLEAN NOT NULL,
    name_differs    BOOLEAN NOT NULL,
    payload_sealed  {bytes} NOT NULL,
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

-- A decision about the lines of a job that is not carried out to the end yet. left_out are the lines that the approver left out, as
-- JSON. lease_until is how long a node works on it, whose token is claim.
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
    left_out         TEXT NOT NULL,
    cooling_hours    BIGINT NOT NULL,
    claim            TEXT NOT NULL,
    lease_until      BIGINT NOT NULL
);
CREATE INDEX directory_import_decision_due ON directory_import_decision (lease_until, approval_id);

-- How often lines have fallen out of an approval since it was requested: the digest that an approver sends covers it.
ALTER TABLE approval ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
