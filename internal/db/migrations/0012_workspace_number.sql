-- Rows that there are millions of name their workspace by a number: its id is 29 bytes.
-- A number is never given twice, not even after its workspace is gone, because rows of
-- the audit log survive what they speak of. The counter is one text for both engines.
CREATE TABLE workspace_counter (last_number INTEGER NOT NULL);

ALTER TABLE workspace ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE workspace SET number = n.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM workspace) n WHERE n.id = workspace.id;
CREATE UNIQUE INDEX workspace_number ON workspace (number);

INSERT INTO workspace_counter SELECT count(*) FROM workspace;
