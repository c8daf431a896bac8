package auditlog

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// errNotAuthentic is returned for a tree that was changed without the key.
var errNotAuthentic = errors.New("the tree of the audit log was changed in the store by somebody who does not have its key")

// authenticate returns the code of a tree, which only a holder of the key can compute. It
// covers the state in the store, all leaves of the tree, and its newest head.
func (s treeState) authenticate(key *tree.Key, root tlog.Hash, newest head) string {
	return key.Authenticate(fmt.Sprintf("%s\n%d %d %d %d %d\n%s\n%d %d %d %d %s\n%s", s.origin, s.generation, s.offset, s.size, s.rows, s.heads, root,
		newest.number, newest.size, newest.rows, newest.at, newest.root, s.restart))
}

// authentic returns an error unless the tree was written with the key.
func (s treeState) authentic(key *tree.Key, tiles *Tiles, newest head) error {
	code, err := s.code(key, tiles, newest)
	if err == nil && !hmac.Equal([]byte(code), []byte(s.mac)) {
		err = errNotAuthentic
	}
	return err
}

func (s treeState) code(key *tree.Key, tiles *Tiles, newest head) (string, error) {
	var root tlog.Hash
	if s.size > 0 {
		var err error
		if root, err = tlog.TreeHash(s.size, tiles); err != nil {
			return "", fmt.Errorf("%w: %w", errNotAuthentic, err)
		}
	}
	return s.authenticate(key, root, newest), nil
}

// adopt authenticates the tree of a new store, which has no leaves and no code yet.
func (s *Signer) adopt(ctx context.Context) error {
	_, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("the tree of the log is as it was")
		state, err := readTree(tx.Q)
		if err != nil || state.mac != "" || state.size > 0 || state.restart != "" || len(s.signed.Text) > 0 {
			return struct{}{}, exempt, err
		}
		code := state.authenticate(s.key, tlog.Hash{}, head{})
		return struct{}{}, exempt, tx.Exec(`UPDATE audit_tree SET mac = $1 WHERE mac = '' AND size = 0`, code)
	})
	return err
}
