package backup

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// Keys are the keys that can read an archive.
type Keys struct {
	Passphrase string   // empty for none
	Recipients []string // public keys of age
	Identities io.Reader
	Plain      bool // write it unencrypted
}

// ErrSealed is returned if an archive is encrypted and no key was given.
var ErrSealed = errors.New("the archive is encrypted")

func (k Keys) recipients() ([]age.Recipient, error) {
	if k.Passphrase != "" {
		r, err := age.NewScryptRecipient(k.Passphrase)
		if err != nil {
			return nil, err
		}
		return []age.Recipient{r}, nil
	}
	if k.Plain {
		return nil, nil
	}
	return Recipients(k.Recipients)
}

// Recipients parses age public keys.
func Recipients(keys []string) ([]age.Recipient, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := age.ParseRecipients(strings.NewReader(strings.Join(keys, "\n")))
	if err != nil {
		return nil, fmt.Errorf("a recipient is no public key of age: %w", err)
	}
	return list, nil
}

func (k Keys) identities() ([]age.Identity, error) {
	if k.Passphrase != "" {
		i, err := age.NewScryptIdentity(k.Passphrase)
		if err != nil {
			return nil, err
		}
		return []age.Identity{i}, nil
	}
	if k.Identities == nil {
		return nil, ErrSealed
	}
	return Identities(k.Identities)
}

// Identities reads age private keys.
func Identities(from io.Reader) ([]age.Identity, error) {
	list, err := age.ParseIdentities(from)
	if err != nil {
		return nil, fmt.Errorf("read the identity: %w", err)
	}
	return list, nil
}

// WriteFile archives a store while it is in use. The file appears when it is complete.
func WriteFile(ctx context.Context, d *db.DB, by db.Caller, path string, keys Keys, progress func(rows int64)) (m Manifest, err error) {
	recipients, err := keys.recipients()
	if err != nil {
		return m, err
	}
	if _, err := os.Lstat(path); err == nil {
		return m, fmt.Errorf("%s exists: an archive does not replace another", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // only its owner can read it
	if err != nil {
		return m, fmt.Errorf("make the archive: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close() // it may already be closed
			_ = os.Remove(file.Name())
		}
	}()
	var sealed io.WriteCloser = file
	if !keys.Plain {
		if sealed, err = age.Encrypt(file, recipients...); err != nil {
			return m, fmt.Errorf("encrypt the archive: %w", err)
		}
	}
	// Speed matters more than size here, because a server may be running at the same time.
	packed, err := gzip.NewWriterLevel(sealed, gzip.BestSpeed)
	if err != nil {
		return m, err
	}
	err = d.ReadAll(ctx, func(q db.Q) (err error) {
		m, err = write(q, d, packed, progress)
		return err
	})
	if err != nil {
		return m, err
	}
	if err := packed.Close(); err != nil {
		return m, fmt.Errorf("write the archive: %w", err)
	}
	if !keys.Plain {
		if err := sealed.Close(); err != nil {
			return m, fmt.Errorf("write the archive: %w", err)
		}
	}
	if err := keep(file, path); err != nil {
		return m, err
	}
	_, err = db.Write(ctx, d, by, func(*db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.Event{Action: audit.StoreArchived, Description: fmt.Sprintf("Wrote all of the store into an archive: %d rows in %d tables", m.Rows(), len(m.Tables))}, nil
	})
	return m, err
}

// keep gives a complete file its name.
func keep(file *os.File, path string) error {
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("name the archive: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("name the archive: %w", err)
	}
	defer folder.Close()
	return folder.Sync()
}

// openArchive reads an archive up to its first table.
func openArchive(from io.Reader, keys Keys) (*stream, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	var plain io.Reader = in
	const ageIntro = "age-encryption.org/"
	switch first, _ := in.Peek(len(ageIntro)); {
	case bytes.HasPrefix(first, []byte{0x1f, 0x8b}): // the signature of gzip
		// An unencrypted archive may have been substituted for one that only the owner of the
		// key can make.
		if keys.Passphrase != "" || keys.Identities != nil {
			return nil, errors.New("the archive is not encrypted, though a key was given: leave the key out if you trust the file")
		}
	case string(first) != ageIntro:
		return nil, errors.New("the file is no archive of Bursar")
	default:
		identities, err := keys.identities()
		if err != nil {
			return nil, err
		}
		if plain, err = age.Decrypt(in, identities...); err != nil {
			return nil, fmt.Errorf("decrypt the archive: %w", err)
		}
	}
	packed, err := gzip.NewReader(plain)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", damaged(err))
	}
	return openStream(packed)
}

// CheckFile reads an archive and compares its rows with its manifest.
func CheckFile(from io.Reader, keys Keys, progress func(rows int64)) (Manifest, error) {
	s, err := openArchive(from, keys)
	if err != nil {
		return Manifest{}, err
	}
	count := counter(progress)
	var read []TableDigest
	m, err := s.tables(func(t db.Table, next func() ([]byte, error)) error {
		var sum digest
		for {
			row, err := next()
			if err == io.EOF {
				read = append(read, sum.of(t.Name))
				return nil
			}
			if err != nil {
				return err
			}
			sum.add(row)
			count()
		}
	})
	if err != nil {
		return m, fmt.Errorf("read the archive: %w", err)
	}
	return m, differ(compare(m.Tables, read))
}
