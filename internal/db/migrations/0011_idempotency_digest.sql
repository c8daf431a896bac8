-- Half of a digest, 128 bits, is enough for an id and for a fingerprint. Records stay
-- usable: a client that repeats a request after the upgrade still gets the first answer.
CREATE TABLE idempotency_new (
    id          TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    status      BIGINT NOT NULL,
    answer      TEXT NOT NULL,
    created_at  BIGINT NOT NULL
) {without rowid};
INSERT INTO idempotency_new
SELECT substr(id, 1, 32), substr(fingerprint, 1, 32), status, answer, created_at FROM idempotency ORDER BY id;
DROP TABLE idempotency;
ALTER TABLE idempotency_new RENAME TO idempotency;
