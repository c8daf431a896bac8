-- The authentication code of a vote: one that was written without the program does not count.
ALTER TABLE approval_vote ADD COLUMN mac {bytes};
