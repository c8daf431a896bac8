-- A row that is refused fails its transaction, which is undone as a whole: SQLite
-- need not be ready to undo the statement alone, for which it copies every page.
CREATE TABLE directory_word_anew (
    workspace_id TEXT NOT NULL ON CONFLICT FAIL,
    word         TEXT NOT NULL ON CONFLICT FAIL,
    entry_id     TEXT NOT NULL ON CONFLICT FAIL,
    PRIMARY KEY (workspace_id, word, entry_id) ON CONFLICT FAIL
) WITHOUT ROWID;
INSERT INTO directory_word_anew SELECT workspace_id, word, entry_id FROM directory_word ORDER BY workspace_id, word, entry_id;
DROP TABLE directory_word;
ALTER TABLE directory_word_anew RENAME TO directory_word;
