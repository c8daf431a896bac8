-- A key that was made in a session which depends on another key depends on it as well.
ALTER TABLE api_key ADD COLUMN parent_id TEXT REFERENCES api_key (id);
CREATE INDEX api_key_parent ON api_key (parent_id) WHERE parent_id IS NOT NULL;

-- A link that sets up how somebody signs in revokes their API keys, unless the operator
-- who made it wanted them kept.
ALTER TABLE account_link ADD COLUMN keep_keys BOOLEAN NOT NULL DEFAULT FALSE;
