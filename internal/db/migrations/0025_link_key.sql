-- The API key that the link of an invitation depends on, because a session of that key was
-- shown it. Links from before depend on nothing.
ALTER TABLE account_link ADD COLUMN made_by_key_id TEXT REFERENCES api_key (id);
