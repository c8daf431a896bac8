-- Whom an identity provider means. An address may be somebody else's next year; issuer
-- and subject never are, so an account belongs to the first that signs in to it.
CREATE TABLE sso_identity (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    account_id TEXT NOT NULL REFERENCES account (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
) {without rowid};
CREATE UNIQUE INDEX sso_identity_account ON sso_identity (account_id, issuer);
