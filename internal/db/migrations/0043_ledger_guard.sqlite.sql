CREATE TRIGGER ledger_transaction_keep_update BEFORE UPDATE ON ledger_transaction
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be changed'); END;

CREATE TRIGGER ledger_transaction_keep_delete BEFORE DELETE ON ledger_transaction
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be deleted'); END;

-- REPLACE deletes the old row without firing the trigger above.
CREATE TRIGGER ledger_transaction_keep_replace BEFORE INSERT ON ledger_transaction
WHEN EXISTS (SELECT 1 FROM ledger_transaction WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'transactions of the ledger cannot be replaced'); END;

CREATE TRIGGER ledger_posting_keep_update BEFORE UPDATE ON ledger_posting
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be changed'); END;

CREATE TRIGGER ledger_posting_keep_delete BEFORE DELETE ON ledger_posting
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be deleted'); END;

CREATE TRIGGER ledger_posting_keep_replace BEFORE INSERT ON ledger_posting
WHEN EXISTS (SELECT 1 FROM ledger_posting WHERE account_id = NEW.account_id AND number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'postings of the ledger cannot be replaced'); END;

CREATE TRIGGER ledger_account_keep_update BEFORE UPDATE OF id, workspace_id, kind, currency, mode, created_at ON ledger_account
BEGIN SELECT RAISE(ABORT, 'whose an account is, its currency and its mode cannot be changed'); END;

CREATE TRIGGER ledger_account_keep_delete BEFORE DELETE ON ledger_account
BEGIN SELECT RAISE(ABORT, 'accounts cannot be deleted'); END;
