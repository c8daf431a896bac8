-- What is left of the attempts that a stranger has: at a password, at a code, at having
-- mail sent. The id is a digest of what the budget is for and whose it is, since that
-- may be an address that somebody typed. A budget is whole again at full_at, so one
-- number tells how much of it is used, and its row is of no use after that.
CREATE TABLE budget (
    id      TEXT PRIMARY KEY,
    full_at BIGINT NOT NULL
) {without rowid};
CREATE INDEX budget_full ON budget (full_at);
