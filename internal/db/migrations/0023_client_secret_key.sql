-- The API key that the present secret of a machine client depends on, because a session of
-- that key was shown it. Secrets from before depend on nothing.
ALTER TABLE account ADD COLUMN secret_key_id TEXT REFERENCES api_key (id);
