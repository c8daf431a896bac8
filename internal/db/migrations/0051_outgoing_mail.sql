-- Mail until it is delivered or given up: see internal/mail/outbox.go. The message is sealed, because
-- it may have a link that signs somebody in. While a node delivers it, claim is the random name of what
-- the node has taken together, and due_at the end of its lease. Otherwise claim is empty, and due_at
-- is when the next attempt is due.
CREATE TABLE outgoing_mail (
    id             TEXT PRIMARY KEY,
    lane           TEXT NOT NULL,
    message_sealed {bytes} NOT NULL,
    sealed_by      BIGINT NOT NULL REFERENCES vault_key (id),
    attempts       BIGINT NOT NULL,
    claim          TEXT NOT NULL,
    due_at         BIGINT NOT NULL,
    created_at     BIGINT NOT NULL
);
CREATE INDEX outgoing_mail_due ON outgoing_mail (lane, due_at, id);
CREATE INDEX outgoing_mail_age ON outgoing_mail (created_at);
CREATE INDEX outgoing_mail_key ON outgoing_mail (sealed_by, id);
