-- PostgreSQL takes a page of a workspace for cheaper when it walks the primary key
-- and steps over what is everybody else's, which for a workspace that was quiet
-- lately is everything. An index of text_pattern_ops finds an id just as well and
-- keeps it unique, but has no order that a page could be read in: what is left are
-- the indexes that begin with the workspace or the tag.

ALTER TABLE audit_log DROP CONSTRAINT audit_log_pkey;
ALTER TABLE audit_log ALTER COLUMN id SET NOT NULL;
CREATE UNIQUE INDEX audit_log_id ON audit_log (id text_pattern_ops);
ALTER TABLE audit_log REPLICA IDENTITY USING INDEX audit_log_id;

ALTER TABLE directory_entry_tag DROP CONSTRAINT directory_entry_tag_entry_id_fkey;
ALTER TABLE receiving_method DROP CONSTRAINT receiving_method_entry_id_fkey;
ALTER TABLE directory_entry DROP CONSTRAINT directory_entry_pkey;
ALTER TABLE directory_entry ALTER COLUMN id SET NOT NULL;
CREATE UNIQUE INDEX directory_entry_id ON directory_entry (id text_pattern_ops);
ALTER TABLE directory_entry REPLICA IDENTITY USING INDEX directory_entry_id;
ALTER TABLE directory_entry_tag ADD CONSTRAINT directory_entry_tag_entry_id_fkey
    FOREIGN KEY (entry_id) REFERENCES directory_entry (id) ON DELETE CASCADE;
ALTER TABLE receiving_method ADD CONSTRAINT receiving_method_entry_id_fkey
    FOREIGN KEY (entry_id) REFERENCES directory_entry (id) ON DELETE CASCADE;
