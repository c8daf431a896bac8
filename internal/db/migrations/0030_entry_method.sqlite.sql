-- Which receiving methods an entry has ever had. It stays when they are removed and when the
-- entry is purged, since rows of the log name only the method, and the history of an entry
-- has all of them. What was removed before this migration is not known.
CREATE TABLE IF NOT EXISTS entry_method_log (
    entry_id  BLOB NOT NULL,
    method_id TEXT NOT NULL,
    PRIMARY KEY (entry_id, method_id)
) WITHOUT ROWID;
INSERT INTO entry_method_log SELECT entry_id, id FROM receiving_method WHERE TRUE ON CONFLICT DO NOTHING;
