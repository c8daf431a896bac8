-- A trigger on inserting makes SQLite keep a copy of every page that a new audit row
-- touches. What it was for, REPLACE, which deletes a row without firing the trigger
-- on deleting, fires that trigger on connections with recursive_triggers, as all
-- of ours are.
DROP TRIGGER audit_log_keep_replace;
