package auditlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bursar/internal/audit"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/keyfile"
)

// The key that signs the checkpoints is in a file and never in the store. So write access
// to the store does not allow signing a changed log. The store has the public key.

// ReadKey reads the key that signs the checkpoints.
func ReadKey(file string) (*tree.Key, error) {
	text, err := keyfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of the audit log: %w", err)
	}
	key, err := tree.ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the key of the audit log in %s: %w", file, err)
	}
	return key, nil
}

// InitKey assigns a key to the log of a store that has none yet. It creates the file unless
// it exists. It writes the file first, so that the store never depends on a key that was not written.
func InitKey(ctx context.Context, d *db.DB, file string) (*tree.Key, error) {
	verifier, err := Verifier(ctx, d)
	if err != nil {
		return nil, err
	}
	key, err := ReadKey(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && verifier != "":
		return nil, fmt.Errorf("the audit log of this store is signed with the key %s, which is not in %s: copy its file from where it is kept", verifier, file)
	case errors.Is(err, fs.ErrNotExist):
		key, err = makeKey(file)
	}
	if err != nil {
		return nil, err
	}
	_, err = db.Write(ctx, d, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("the key is in every checkpoint that it signs")
		return struct{}{}, exempt, tx.Exec(`UPDATE audit_tree SET verifier = $1, origin = $2 WHERE verifier = ''`, key.Verifier(), key.Name())
	})
	if err != nil {
		return nil, err
	}
	return key, checkKey(ctx, d, key, file)
}

func makeKey(file string) (*tree.Key, error) {
	key, err := tree.NewKey()
	if err == nil {
		err = keyfile.Make(file, []byte(key.String()))
	}
	if errors.Is(err, fs.ErrExist) { // another process has just created it
		return ReadKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("make the key of the audit log: %w", err)
	}
	return key, nil
}

// Verifier returns the public key of the log, or "" if the log has no key yet.
func Verifier(ctx context.Context, d *db.DB) (string, error) {
	var state treeState
	err := d.Read(ctx, func(q db.Q) (err error) {
		state, err = readTree(q)
		return err
	})
	return state.verifier, err
}

// checkKey returns an error if the log of the store is signed with another key.
func checkKey(ctx context.Context, d *db.DB, key *tree.Key, file string) error {
	verifier, err := Verifier(ctx, d)
	switch {
	case err != nil:
		return err
	case verifier == "":
		return fmt.Errorf("the audit log of this store has no key yet: run 'bursar admin audit init --audit-key %s'", file)
	case verifier != key.Verifier():
		return fmt.Errorf("the key in %s (%s) is not the key of this store, whose audit log is signed with %s: copy the file of that key, or choose the store that belongs to this one", file, key.Name(), verifier)
	}
	return nil
}
