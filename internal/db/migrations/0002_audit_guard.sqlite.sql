CREATE TRIGGER audit_log_keep_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be changed'); END;

CREATE TRIGGER audit_log_keep_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'audit rows cannot be deleted'); END;
