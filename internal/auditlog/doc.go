// Package auditlog lists, follows, exports and proves the audit log. Package db writes its
// rows, each in the transaction of the mutation that the row describes.
//
// # From a row to a checkpoint
//
//	committed   the row is in audit_log, with the mutation that it describes
//	placed      it is in audit_place: a position in the whole log, a place (seq) in its stream
//	in the tree the row is a leaf: audit_tile has its hash, audit_tree.rows has reached its position
//	headed      audit_head has a tree whose last leaf commits to how many rows each stream has
//	signed      a reader requested the newest head, and it was signed for them
//	kept        the checkpoint is in a file outside the store, in mail, at witnesses
//
// The sequencer does the first steps, four times a second, and the tree builder after it,
// twice a second. The signer does the last. Every node runs all three.
//
// # Invariants
//
//   - Positions are 1, 2, 3, … without gaps, and so are the places of each stream. They never
//     change. audit_sequence.size is the last position.
//   - The leaves of the tree are the rows in the order of their positions, and one leaf for
//     each head. The row at position p that head n is the first to cover is the leaf
//     row_offset + (p-1) + (n-1), where row_offset is 1 in a log that was restarted.
//   - Streams are numbered in the order of their first rows. So those with rows below any
//     head are 0, 1, 2, … The operator's is 0 and always exists.
//   - Full tiles never change, and a tile at the right edge only grows.
//   - Each step compares and swaps a size (audit_sequence.size, audit_tree.size with its code)
//     in the transaction that writes, so any number of nodes may attempt it. The lease of the
//     sequencer only saves work.
//   - A signed head continues the last signed one: the tiles have the root of the new head,
//     and the root of the old checkpoint at its size.
//   - The row of audit_tree carries a code over itself, over all leaves and over the newest
//     head, which only a holder of the key can compute (authenticate). Without the right code,
//     no tree is extended and no head is signed. So write access to the database alone can
//     stop the log, but cannot falsify it.
//   - A signature is a function of the head. All nodes produce the same signature for a head,
//     so signatures need not be stored.
//
// # Failures
//
//   - A node dies between two batches of the tree: rows and tiles of the first are committed,
//     but no head is. Another node, or the same one later, continues from audit_tree.
//   - Two nodes build at once: one of the swaps finds another size, its transaction is rolled
//     back, and its node reads the tree again.
//   - A node dies between a commit and the checkpoint file: the file is older than the store,
//     which the check at the start expects.
//   - The store is older than the file, after a backup was restored or a lagging standby took
//     over: the signer finds a smaller tree or another root. It reports that, and signs
//     nothing (BrokenError). It does the same while it runs, since it compares every head
//     with the last that it signed. Restart opens a new log (the next generation) whose first
//     leaf is the lost checkpoint.
//   - A tile, a head, a place or a row is changed in the store: a builder or signer that
//     reads it stops with an error. The error is logged once and counted. 'bursar audit
//     verify --store' finds the rest.
//   - The key is missing: the node serves, sequences and does not sign. The tree waits, and
//     catches up when a node has the key.
//   - A witness or the mail server is down: nothing waits for it.
package auditlog
