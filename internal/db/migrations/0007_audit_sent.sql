-- The row as it is sent: a page of the log is copied rather than put together from
-- thirteen columns a row. Rows from before have none, and are put together.
ALTER TABLE audit_log ADD COLUMN sent TEXT;
