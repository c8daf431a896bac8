-- An organization can demand that its people sign in with a second factor.
ALTER TABLE organization ADD COLUMN require_second_factor BOOLEAN NOT NULL DEFAULT FALSE;

-- Whether the person showed a second factor when the session began, or set up their first
-- one in it. A device login has what the session had that approved it; of those from
-- before it is unknown.
ALTER TABLE session ADD COLUMN second_factor BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE device_code ADD COLUMN second_factor BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE session SET second_factor = TRUE WHERE method IN ('password_totp', 'passkey', 'sso');

-- The browsers that a person has signed in from. Each keeps an id in a cookie, of which
-- the store has a hash.
CREATE TABLE known_browser (
    account_id TEXT NOT NULL REFERENCES account (id),
    hash       TEXT NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash)
) {without rowid};
