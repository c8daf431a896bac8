-- The bank's account may be above zero: see internal/ledger. What a bank's statement shows has
-- happened, also if more left the bank than the books say that it holds, such as a charge that is
-- paid from money of the operator.
ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_check3;
ALTER TABLE ledger_account ADD CONSTRAINT ledger_account_side
    CHECK (available BETWEEN CASE WHEN kind IN ('bank', 'suspense') THEN -1000000000000000000 ELSE 0 END AND 1000000000000000000);
