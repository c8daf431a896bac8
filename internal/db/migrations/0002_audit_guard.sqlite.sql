CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be changed'); END;

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be deleted'); END;

-- REPLACE deletes the old row without firing the trigger above.
CREATE TRIGGER audit_log_keep_replace BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be replaced'); END;
