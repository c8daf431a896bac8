-- Words that so many entries of a workspace have that no search begins with them.
-- Once a word is here it stays, and entries are not filed under it any more.
CREATE TABLE directory_common_word (
    workspace_id TEXT NOT NULL,
    word         TEXT NOT NULL,
    PRIMARY KEY (workspace_id, word)
) {without rowid};

-- What is too old is found by walking the ids, a slice at a time.
DROP INDEX idempotency_age;
