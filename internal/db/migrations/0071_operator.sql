-- Who knows or made what: for removing a person who leaves.
CREATE INDEX account_secret_seen_by ON account (secret_seen_by) WHERE secret_seen_by IS NOT NULL;
CREATE INDEX account_made_by ON account (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX account_link_open_by ON account_link (made_by_id) WHERE used_at IS NULL AND made_by_id IS NOT NULL;
