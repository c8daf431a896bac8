-- The bank's account may be above zero: see internal/ledger. What a bank's statement shows has
-- happened, also if more left the bank than the books say that it holds, such as a charge that is
-- paid from money of the operator.
--
-- SQLite drops no constraint that has no name, and a copy of the table would have to take over what
-- refers to it. A check that allows more than before is in no row, so its text alone is changed,
-- which https://sqlite.org/lang_altertable.html describes. RESET reads the schema anew here, and the
-- table that comes and goes moves the version of the schema, so that other connections read it anew, too.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CASE WHEN kind = ''bank'' THEN 0 ELSE 1000000000000000000 END', '1000000000000000000')
WHERE type = 'table' AND name = 'ledger_account';
PRAGMA writable_schema = RESET;
CREATE TABLE ledger_bank_above_zero (id TEXT);
DROP TABLE ledger_bank_above_zero;
