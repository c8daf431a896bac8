CREATE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what % has cannot be changed or deleted', TG_TABLE_NAME;
END $$;

CREATE TRIGGER ledger_transaction_keep BEFORE UPDATE OR DELETE ON ledger_transaction
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_transaction_keep_all BEFORE TRUNCATE ON ledger_transaction
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_posting_keep BEFORE UPDATE OR DELETE ON ledger_posting
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_posting_keep_all BEFORE TRUNCATE ON ledger_posting
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_update BEFORE UPDATE OF id, workspace_id, kind, currency, mode, created_at ON ledger_account
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_delete BEFORE DELETE ON ledger_account
FOR EACH ROW EXECUTE FUNCTION ledger_refuse();

CREATE TRIGGER ledger_account_keep_all BEFORE TRUNCATE ON ledger_account
FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
