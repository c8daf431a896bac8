package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bursar/internal/config"
)

// secretFile receives the secrets of a first start. It is created before them, because they are shown once and must have a place. It is
// created under a temporary name, so that a planted link is replaced and not followed.
type secretFile struct {
	path  string
	draft *os.File // only its owner can read it
}

// newSecretFile creates the file in the data folder, or in the working folder if the store has none.
func newSecretFile(store config.Store) (*secretFile, error) {
	dir := store.Data
	if store.DatabaseURL != "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		var draft *os.File
		if draft, err = os.CreateTemp(dir, "first-admin-*.txt"); err == nil {
			return &secretFile{filepath.Join(dir, "first-admin.txt"), draft}, nil
		}
	}
	return nil, fmt.Errorf("make a file for the secrets of the first admin: %w: run 'bursar init' before the first start, which prints them", err)
}

func (f *secretFile) keep(text string) error {
	_, err := f.draft.WriteString(text)
	if err = errors.Join(err, f.draft.Close()); err == nil {
		err = os.Rename(f.draft.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("write the secrets of the first admin: %w", err)
	}
	return nil
}

// discard removes the file unless it was kept.
func (f *secretFile) discard() error {
	_ = f.draft.Close() // if keep has not closed it
	if err := os.Remove(f.draft.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an empty file: %w", err)
	}
	return nil
}
