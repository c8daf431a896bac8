package vault

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/keyfile"
)

// masterKey is a row of vault_master.
type masterKey struct {
	version     int64
	fingerprint string
	wrapped     []byte // by the program of --vault-command, otherwise nil
	createdAt   int64
}

// fingerprint identifies a master key and reveals nothing about it.
func fingerprint(master []byte) string {
	sum, err := derive(master, "fingerprint", 8)
	if err != nil {
		return "" // it accepts a key of any length
	}
	return hex.EncodeToString(sum)
}

// currentMaster returns the master key that wraps new data keys; its version is 0 if the
// store has none.
func currentMaster(q db.Q) (masterKey, error) {
	var m masterKey
	_, err := q.Row(`SELECT version, fingerprint, wrapped, created_at FROM vault_master ORDER BY version DESC LIMIT 1`).
		Scan(&m.version, &m.fingerprint, &m.wrapped, &m.createdAt)
	return m, err
}

func (v *Vault) currentMaster(ctx context.Context) (m masterKey, err error) {
	err = v.db.Read(ctx, func(q db.Q) (err error) {
		m, err = currentMaster(q)
		return err
	})
	return m, err
}

// ErrNone is returned if the store has no vault key yet and this process must not create one.
var ErrNone = errors.New("this store has no vault key yet: make one with 'bursar admin vault init --vault-key FILE', " +
	"and give the file to every server with --vault-key (BURSAR_VAULT_KEY)")

// findMaster loads the master key of the store into memory.
func (v *Vault) findMaster(ctx context.Context) error {
	current, err := v.currentMaster(ctx)
	if err != nil {
		return err
	}
	if current.version == 0 {
		given, err := v.prepared(ctx)
		if err == nil && given == nil && !v.config.Make {
			err = ErrNone
		}
		if err == nil {
			_, err = v.Init(ctx)
		}
		return err
	}
	return v.obtain(ctx, current)
}

// Init creates the master key of a store that has none, or uses the one in the file.
// Several processes may call it at once: one wins, and the others fail if they have another key.
func (v *Vault) Init(ctx context.Context) (fingerprint string, err error) {
	current, err := v.currentMaster(ctx)
	if err == nil && current.version == 0 {
		current, err = v.addMaster(ctx, db.Caller{}, 1, func(*db.Tx) (audit.Event, error) {
			return audit.None("nobody asked for the secrets of a new store"), nil
		})
	}
	if err == nil {
		err = v.obtain(ctx, current)
	}
	return current.fingerprint, err
}

// addMaster stores a version of the master key, unless another process has already done
// so, and returns the one in the store. with runs in the same transaction.
func (v *Vault) addMaster(ctx context.Context, by db.Caller, version int64, with func(tx *db.Tx) (audit.Event, error)) (masterKey, error) {
	secret, wrapped, err := v.newMaster(ctx, version)
	if err != nil {
		return masterKey{}, err
	}
	_, err = db.Write(ctx, v.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		first, err := tx.Row(`INSERT INTO vault_master (version, fingerprint, wrapped, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (version) DO NOTHING RETURNING version`, version, fingerprint(secret), nullBytes(wrapped), tx.Now()).Scan(new(int64))
		if err != nil || !first {
			return struct{}{}, audit.None("another process was faster"), err
		}
		event, err := with(tx)
		return struct{}{}, event, err
	})
	if err != nil {
		return masterKey{}, fmt.Errorf("store the fingerprint of the vault key: %w", err)
	}
	v.know(secret)
	return v.currentMaster(ctx)
}

func nullBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// newMaster returns the master key for a version: one of the file that the store does not
// know yet, or a new one. The key is on disk or wrapped when newMaster returns.
func (v *Vault) newMaster(ctx context.Context, version int64) (secret, wrapped []byte, err error) {
	if v.config.Command != "" {
		secret = newKey()
		if wrapped, err = v.run(ctx, "wrap", secret); err != nil {
			return nil, nil, err
		}
		back, err := v.run(ctx, "unwrap", wrapped) // verified before anything depends on it
		if err == nil && !bytes.Equal(back, secret) {
			err = errors.New("the program of --vault-command does not unwrap what it has wrapped")
		}
		return secret, wrapped, err
	}
	if v.config.KeyFile == "" {
		return nil, nil, errors.New("no file for the vault key: name one with --vault-key (BURSAR_VAULT_KEY)")
	}
	unlock, err := keyfile.Lock(v.config.KeyFile) // otherwise one of two processes could remove the other's key
	if err != nil {
		return nil, nil, fmt.Errorf("make the vault key: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if secret, err = v.prepared(ctx); err != nil {
		return nil, nil, err
	}
	if secret != nil {
		return secret, nil, keyfile.Sync(v.config.KeyFile)
	}
	secret, err = v.addToFile(version)
	return secret, nil, err
}

// prepared returns the newest key of the file, if the store does not know it yet.
func (v *Vault) prepared(ctx context.Context) ([]byte, error) {
	list, err := v.readFile()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	newest := list[len(list)-1]
	known := false
	err = v.db.Read(ctx, func(q db.Q) (err error) {
		known, err = q.Row(`SELECT version FROM vault_master WHERE fingerprint = $1`, fingerprint(newest)).Scan(new(int64))
		return err
	})
	if err != nil || known {
		return nil, err
	}
	return newest, nil
}

func (v *Vault) know(secret []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.masters[fingerprint(secret)] = secret
}

// obtain loads a master key into memory.
func (v *Vault) obtain(ctx context.Context, m masterKey) error {
	v.mu.RLock()
	known := v.masters[m.fingerprint] != nil
	v.mu.RUnlock()
	if known {
		return nil
	}
	if m.wrapped != nil {
		return v.unwrapMaster(ctx, m)
	}
	list, err := v.readFile()
	if errors.Is(err, fs.ErrNotExist) && v.config.KeyFile == "" {
		return lost{fmt.Sprintf("this store was sealed with the vault key %s: name its file with --vault-key (BURSAR_VAULT_KEY)", m.fingerprint)}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return lost{fmt.Sprintf("the vault key of this store is missing: there is no file %s, and the store was sealed with the key %s. "+
			"Put the file back from where you keep it, or name it with --vault-key (BURSAR_VAULT_KEY). "+
			"If it is lost for good, 'bursar admin vault init --lost' begins with a new one", v.config.KeyFile, m.fingerprint)}
	}
	if err != nil {
		return fmt.Errorf("read the vault key: %w", err)
	}
	var names []string
	for _, secret := range list {
		name := fingerprint(secret)
		if names = append(names, name); name == m.fingerprint {
			v.know(secret)
			return nil
		}
	}
	return lost{fmt.Sprintf("the vault key in %s is not the one of this store: the file has %s, and the store was sealed with %s",
		v.config.KeyFile, strings.Join(names, ", "), m.fingerprint)}
}

// lost is an ErrLost that names the missing key, in one line.
type lost struct{ text string }

func (l lost) Error() string        { return l.text }
func (l lost) Is(target error) bool { return target == ErrLost }

func (v *Vault) unwrapMaster(ctx context.Context, m masterKey) error {
	if v.config.Command == "" {
		return lost{fmt.Sprintf("the vault key %s of this store is wrapped by a program: name the program with --vault-command (BURSAR_VAULT_COMMAND)", m.fingerprint)}
	}
	secret, err := v.run(ctx, "unwrap", m.wrapped)
	if err != nil {
		return err
	}
	if fingerprint(secret) != m.fingerprint {
		return lost{fmt.Sprintf("the program of --vault-command unwrapped another key than %s, which the store was sealed with", m.fingerprint)}
	}
	v.know(secret)
	return nil
}

// commandTimeout bounds how long the program may take.
const commandTimeout = 30 * time.Second

// run calls the program with the operation as its last argument. The program reads bytes
// from its standard input and writes bytes to its standard output, each as one line of base64.
func (v *Vault) run(ctx context.Context, do string, in []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	words := append(strings.Fields(v.config.Command), do)
	program := exec.CommandContext(ctx, words[0], words[1:]...)
	program.Stdin = strings.NewReader(base64.StdEncoding.EncodeToString(in) + "\n")
	var complaint bytes.Buffer
	program.Stderr = &complaint
	out, err := program.Output()
	if err != nil {
		return nil, fmt.Errorf("--vault-command %s %s: %w: %s", words[0], do, err, oneLine(complaint.String()))
	}
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(out)))
	if err != nil || len(bytes) == 0 {
		return nil, fmt.Errorf("--vault-command %s %s: its output is not one line of base64", words[0], do) // which may be the key
	}
	return bytes, nil
}

func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), most)]
}

// linePrefix is the prefix of each line with a key in a key file.
const linePrefix = "bursar-vault-key-1 "

const fileHead = `# The vault key of a Bursar store. Whoever has this file and the database can read
# the account numbers in it; without this file nobody can. Keep a copy apart from
# the database and its backups. The last line is the newest key; keep the others
# for as long as you keep backups of their time.
`

// readFile returns the keys of the file, the newest last.
func (v *Vault) readFile() ([][]byte, error) {
	if v.config.KeyFile == "" {
		return nil, fs.ErrNotExist
	}
	text, err := keyfile.Read(v.config.KeyFile)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, ok := strings.CutPrefix(line, linePrefix)
		secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
		if !ok || err != nil || len(secret) != keySize {
			return nil, fmt.Errorf("%s is not a vault key file: each of its lines must begin with %q", v.config.KeyFile, linePrefix) // the line may be a key
		}
		list = append(list, secret)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", v.config.KeyFile, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no key in it", v.config.KeyFile)
	}
	return list, nil
}

// addToFile generates a key and adds it to the file, which it creates if necessary. The
// file must be locked.
func (v *Vault) addToFile(version int64) ([]byte, error) {
	secret := newKey()
	text, err := keyfile.Read(v.config.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte(fileHead), nil
	}
	if err == nil {
		line := "\n" + linePrefix + base64.StdEncoding.EncodeToString(secret) + "\n"
		err = keyfile.Replace(v.config.KeyFile, append(bytes.TrimRight(text, "\n"), line...))
	}
	if err != nil {
		return nil, fmt.Errorf("make the vault key: %w", err)
	}
	v.config.Tell(fmt.Sprintf("The vault key %s (version %d) is in %s. It opens the account numbers in the database: "+
		"keep a copy apart from the database and its backups.", fingerprint(secret), version, v.config.KeyFile))
	return secret, nil
}

// unwrap decrypts a data key.
func (v *Vault) unwrap(ctx context.Context, row wrappedKey) (*dataKey, error) {
	secret, err := v.secretOf(ctx, row)
	if err != nil {
		return nil, err
	}
	return newDataKey(row.id, row.workspace, secret)
}

func (v *Vault) secretOf(ctx context.Context, row wrappedKey) ([]byte, error) {
	if err := v.obtain(ctx, row.master); err != nil {
		return nil, err
	}
	v.mu.RLock()
	master := v.masters[row.master.fingerprint]
	v.mu.RUnlock()
	return unwrapKey(master, row.id, row.workspace, row.wrapped)
}
