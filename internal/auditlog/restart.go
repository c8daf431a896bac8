package auditlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// Restart opens a new log whose first leaf is the checkpoint of the old one, which the file
// contains. The tree is rebuilt from the first row in the store.
func Restart(ctx context.Context, d *db.DB, by db.Caller, keyFile, file string) (old tree.Checkpoint, err error) {
	verifier, err := Verifier(ctx, d)
	if err != nil {
		return old, err
	}
	if verifier == "" {
		return old, errors.New("the audit log of this store has no key, so nothing of it was signed: there is nothing to restart")
	}
	key, err := ReadKey(keyFile)
	if err == nil {
		err = checkKey(ctx, d, key, keyFile)
	}
	if err != nil {
		return old, err
	}
	kept, err := readCheckpointFile(file, verifier)
	if err != nil {
		return old, err
	}
	_, err = db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		event := audit.Event{
			Action:      audit.AuditRestarted,
			Description: fmt.Sprintf("Restarted the audit log after the checkpoint of %s with %d leaves", kept.Origin, kept.Size),
		}
		state, err := readTree(tx.Q)
		if err != nil {
			return struct{}{}, event, err
		}
		newest, err := readHead(tx.Q, state.heads)
		if err != nil {
			return struct{}{}, event, err
		}
		tiles := NewTiles(tx.Q)
		err = kept.continues(tiles, state, newest)
		if err == nil && state.authentic(key, tiles, newest) != nil {
			err = &BrokenError{errNotAuthentic.Error()}
		}
		if err == nil {
			err = errors.New("the store has all that the checkpoint says: there is nothing to restart")
		}
		if broken := (*BrokenError)(nil); !errors.As(err, &broken) {
			return struct{}{}, event, err
		}
		next := max(state.generation, generationOf(kept.Origin)) + 1
		name, _, _ := strings.Cut(verifier, "+")
		for _, sql := range []string{`DELETE FROM audit_tile`, `DELETE FROM audit_head`} {
			if err := tx.Exec(sql); err != nil {
				return struct{}{}, event, err
			}
		}
		opened := treeState{origin: originOf(name, next), generation: next, restart: string(kept.Text), offset: 1}
		return struct{}{}, event, tx.Exec(`UPDATE audit_tree SET origin = $1, generation = $2, restart = $3, row_offset = 1, size = 0, rows = 0, heads = 0, mac = $4`,
			opened.origin, opened.generation, opened.restart, opened.authenticate(key, tlog.Hash{}, head{}))
	})
	return kept.Checkpoint, err
}
