// Package vault encrypts (seals) values that a stolen database must not reveal: account
// numbers, the secrets of authenticator apps, the keys that sign sessions, and queued mail.
//
// # Keys
//
//	master key    32 random bytes in a file (--vault-key), or in the store, wrapped by
//	   │          a program (--vault-command); the store has its fingerprint and version
//	   │ wraps
//	data key      32 random bytes for each workspace, and for values of none (number 0)
//	   ├──────── seals values: AES-256-GCM, a random nonce each
//	   ├──────── finds equal values: HMAC-SHA-256, see Index and Lookups
//	   └──────── encrypts the answers of idempotency records: see Secret
//
// The three uses have keys of their own, which HKDF derives from the data key. The program of
// a key management service is called once when a process starts, so that no request waits for it.
//
// # A sealed value
//
//	1 byte     the version of this format, 1
//	8 bytes    the id of the data key
//	12 bytes   the nonce
//	the rest   the ciphertext and its tag
//
// The tag also covers the number of the workspace and a context, which names the table, the
// column and the row (see Row). A value that is moved to another row, another column or
// another workspace cannot be opened.
//
// # States of a data key
//
//	sealing  ──reseal──▶  retired  ──housekeeping, two days later──▶  deleted
//
// Only one key of a workspace seals, which a unique index ensures. A retired key only opens. A
// row has the id of its key in a column that references vault_key. So the database refuses to
// delete a key that has sealed any value, even if a slow node stores such a row at the last
// moment. Stored answers have no such column: they are deleted after a day, and a retired key
// stays for two.
//
// # Invariants
//
//   - Nothing is sealed with a key that is not committed, wrapped, in the store.
//   - The store never has a master key or a data key in plaintext.
//   - The id of a data key is used once, so cached data about an id never changes.
//   - Every table with sealed values is in columns, so that reseal finds it.
//
// # What happens when
//
//   - the file of the master key is missing, or has another key: Start fails with one line
//     that names both fingerprints, and changes nothing.
//   - the master key is lost: 'bursar admin vault init --lost' creates a new one. Opening
//     values that the lost key has sealed returns ErrLost from then on. Account numbers are
//     shown as lost and can be entered again. Authenticator apps do not work, but recovery
//     codes do. Queued mail is not sent, sessions by token end, and repeated requests of the
//     last day get a conflict. If the key is found, adding its line to the file makes all of
//     it readable again.
//   - a sealed value was damaged or moved: ErrDamaged.
//   - a process is killed while it creates the first key: the file is complete or does not
//     exist, and the next start uses it.
//   - a process is killed while it rotates or reseals: each batch is a transaction, and the
//     rows themselves show what is left. Running it again continues.
//   - a node does not know yet that a workspace has a new data key: it seals with the retired
//     one until it notices, within a second. Such rows can be read as well as any other, and
//     the next reseal moves them.
//   - a node does not have the new master key yet: it continues with the data keys that it has
//     unwrapped. It reads its file again when it finds one that it cannot unwrap.
//   - several processes create a key at once, with one file: they lock its folder, so that
//     none removes the line of another. With separate files, the first wins, and the others fail.
//   - the disk is full: the file is complete and synced, and its folder too, before the store
//     gets the fingerprint. So nothing is ever sealed with a key that is not on disk.
//
// # What it costs
//
// Measured on two cores, shared with other programs, on SQLite:
//
//   - Opening a number takes 1.8 µs (BenchmarkOpen). GET /v1/directory/{id} with one method
//     takes 1.15 times the CPU time that it takes with an unsealed number (the median of 15
//     pairs; the middle half of them was between 0.97 and 1.31).
//   - Resealing 100,000 numbers takes 15 seconds. While 16 clients create entries without a pause
//     it takes 32 to 61 seconds, and they get 0.63 to 0.96 of the creates that they get without.
//     With batches of 500 and no wait after each, it took 9 seconds, and they got 0.08.
package vault
