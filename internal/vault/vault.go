package vault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// Config is the location of the master key.
type Config struct {
	// KeyFile contains the master key, and earlier ones that are still needed.
	KeyFile string
	// Command wraps and unwraps the master key instead: a program and its arguments.
	Command string
	// Make creates the master key of a store that has none. Servers with PostgreSQL do not
	// set it, because each of several nodes would create another key. They use the one in the file.
	Make bool
	// Tell is called with a message for the operator about a newly created key.
	Tell func(text string)
}

// Vault seals and opens values of one store. It can be used by several goroutines.
type Vault struct {
	db     *db.DB
	config Config

	finding sync.Mutex
	found   atomic.Bool  // the master key
	expired atomic.Int64 // the data key that Expire last checked

	mu      sync.RWMutex
	masters map[string][]byte  // by fingerprint
	keys    map[int64]*dataKey // by id
	sealing map[int64]sealing  // by number of the workspace

	storeKeys sync.Map // of StoreKey, by name
}

// sealing is the key that seals for a workspace, as read at an epoch of the store.
type sealing struct {
	key   *dataKey
	epoch uint64
}

var (
	// ErrLost is returned for values that were sealed with a key that this process does
	// not have.
	ErrLost = errors.New("the key that sealed it is not here")
	// ErrDamaged is returned for bytes that were not sealed for this row and column.
	ErrDamaged = errors.New("the sealed value is damaged, or belongs to another row")
)

// New returns a vault. It does not access the key or the store before it is used, so that
// functions without secrets work without the key.
func New(d *db.DB, c Config) *Vault {
	if c.Tell == nil {
		c.Tell = func(string) {}
	}
	return &Vault{db: d, config: c, masters: map[string][]byte{}, keys: map[int64]*dataKey{}, sealing: map[int64]sealing{}}
}

// Start finds the master key, or creates the first one. It creates the keys of the store, so that every backup has
// them. Servers call it before they serve.
func (v *Vault) Start(ctx context.Context) error {
	if err := v.Ready(ctx, 0); err != nil {
		return err
	}
	_, err := v.StoreKey(ctx, ExternalIDKey)
	return err
}

// begin finds the master key once.
func (v *Vault) begin(ctx context.Context) error {
	if v.found.Load() {
		return nil
	}
	v.finding.Lock()
	defer v.finding.Unlock()
	if v.found.Load() {
		return nil
	}
	if err := v.findMaster(ctx); err != nil {
		return err
	}
	v.found.Store(true)
	return nil
}

// Row is the context of a value in a row: its table, its column and the row's id.
func Row(table, column, id string) string { return table + "." + column + " " + id }

// Ready prepares the vault to seal and open values of a workspace (0 is the store itself).
// Call it before db.Write if the callback seals or opens. A callback must not wait for
// another transaction, and creating the workspace's first key is one.
func (v *Vault) Ready(ctx context.Context, workspace int64) error {
	if err := v.begin(ctx); err != nil {
		return err
	}
	epoch := v.db.Epoch()
	v.mu.RLock()
	known, ok := v.sealing[workspace]
	v.mu.RUnlock()
	if ok && known.epoch == epoch {
		return nil
	}
	return v.load(ctx, workspace)
}

// Loaded reports whether Seal works for a workspace without reading the store.
func (v *Vault) Loaded(workspace int64) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, ok := v.sealing[workspace]
	return ok
}

// Seal seals a value of a workspace. Only the same workspace and context open it. The
// workspace must be Ready if a callback of db.Write calls it.
func (v *Vault) Seal(workspace int64, context string, plaintext []byte) ([]byte, error) {
	key, err := v.sealingKey(workspace)
	if err != nil {
		return nil, fmt.Errorf("seal a value: %w", err)
	}
	return key.seal(workspace, context, plaintext), nil
}

// Open decrypts a sealed value.
func (v *Vault) Open(workspace int64, context string, sealed []byte) ([]byte, error) {
	id := KeyOf(sealed)
	if id == 0 {
		return nil, fmt.Errorf("open a sealed value: %w", ErrDamaged)
	}
	key, err := v.key(id)
	if err == nil {
		var plaintext []byte
		if plaintext, err = key.open(workspace, context, sealed); err == nil {
			return plaintext, nil
		}
	}
	return nil, fmt.Errorf("open a sealed value: %w", err)
}

// Index returns the bytes by which equal values of the same workspace are found. They are
// stored beside the sealed value and change with it.
func (v *Vault) Index(sealed []byte, value string) ([]byte, error) {
	key, err := v.key(KeyOf(sealed))
	if err != nil {
		return nil, err
	}
	return key.indexOf(value), nil
}

// Lookups returns the possible results of Index for a value: one for each data key of the workspace.
func (v *Vault) Lookups(ctx context.Context, workspace int64, value string) ([][]byte, error) {
	f, err := v.Finder(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return f.Lookups(value), nil
}

// Finder looks up many values with the data keys of a workspace at one moment.
type Finder struct {
	workspace, newest int64
	keys              []*dataKey
}

// Finder reads the data keys of a workspace.
func (v *Vault) Finder(ctx context.Context, workspace int64) (*Finder, error) {
	if err := v.begin(ctx); err != nil {
		return nil, err
	}
	if err := v.load(ctx, workspace); err != nil { // a key may have just been created
		return nil, err
	}
	f := &Finder{workspace: workspace}
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, key := range v.keys {
		if key.workspace == workspace {
			f.keys, f.newest = append(f.keys, key), max(f.newest, key.id)
		}
	}
	return f, nil
}

// Lookups returns the possible results of Index for a value.
func (f *Finder) Lookups(value string) [][]byte {
	found := make([][]byte, len(f.keys))
	for i, key := range f.keys {
		found[i] = key.indexOf(value)
	}
	return found
}

// Current reports whether no data key was created since. A transaction that must not overlook a
// value checks this at its end, because values are only sealed with a key that was already committed.
func (f *Finder) Current(q db.Q) (bool, error) {
	newer, err := q.Row(`SELECT id FROM vault_key WHERE workspace_number = $1 AND id > $2 LIMIT 1`, f.workspace, f.newest).Scan(new(int64))
	return !newer, err
}

// Secret returns a secret of the store that encrypts the answers to repeated requests, and
// its id. Id 0 asks for the current one.
func (v *Vault) Secret(ctx context.Context, id int64) (int64, []byte, error) {
	if id == 0 {
		if err := v.Ready(ctx, 0); err != nil {
			return 0, nil, err
		}
	}
	key, err := v.sealingKey(0)
	if id != 0 {
		key, err = v.key(id)
	}
	if errors.Is(err, ErrLost) {
		err = fault.New(api.CodeIdempotencyConflict, "the answer to the first request with this idempotency key was sealed with a key that is lost")
	}
	if err != nil {
		return 0, nil, err
	}
	return key.id, key.answers, nil
}

// loadTimeout bounds how long a caller without a context waits for the store.
const loadTimeout = 10 * time.Second

// sealingKey returns the key that seals for a workspace. A retired key in memory is valid
// too: see the states of a key.
func (v *Vault) sealingKey(workspace int64) (*dataKey, error) {
	v.mu.RLock()
	known, ok := v.sealing[workspace]
	v.mu.RUnlock()
	if ok {
		return known.key, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	if err := v.Ready(ctx, workspace); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.sealing[workspace].key, nil
}

// key returns a data key by its id.
func (v *Vault) key(id int64) (*dataKey, error) {
	v.mu.RLock()
	known := v.keys[id]
	v.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	if err := v.begin(ctx); err != nil {
		return nil, err
	}
	var workspace int64
	err := v.db.Read(ctx, func(q db.Q) error {
		found, err := q.Row(`SELECT workspace_number FROM vault_key WHERE id = $1`, id).Scan(&workspace)
		if err == nil && !found {
			err = ErrDamaged
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := v.load(ctx, workspace); err != nil {
		return nil, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.keys[id] == nil {
		return nil, ErrLost
	}
	return v.keys[id], nil
}

// maxKeys bounds how many data keys are in memory. Beyond it those of workspaces are dropped and
// read again when needed.
const maxKeys = 10_000

// load reads the data keys of a workspace, and creates one if none seals.
func (v *Vault) load(ctx context.Context, workspace int64) error {
	epoch := v.db.Epoch()
	rows, err := v.dataKeys(ctx, workspace)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].retired {
		if err := v.makeDataKey(ctx, workspace); err != nil {
			return err
		}
		if rows, err = v.dataKeys(ctx, workspace); err != nil {
			return err
		}
	}
	var opened []*dataKey
	for i, row := range rows {
		v.mu.RLock()
		key := v.keys[row.id]
		v.mu.RUnlock()
		if key == nil { // otherwise it is already unwrapped, even if the file does not have its current wrapping key
			key, err = v.unwrap(ctx, row)
		}
		if errors.Is(err, ErrLost) && i > 0 {
			continue // only the values that it has sealed are lost
		}
		if err != nil {
			return fmt.Errorf("unwrap the data key %d: %w", row.id, err)
		}
		opened = append(opened, key)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.keys) > maxKeys {
		// The store's own key stays. Transactions seal mail with it, and must not wait for another
		// transaction.
		own, ok := v.sealing[0]
		clear(v.keys)
		clear(v.sealing)
		if ok {
			v.sealing[0], v.keys[own.key.id] = own, own.key
		}
	}
	for _, key := range opened {
		v.keys[key.id] = key
	}
	v.sealing[workspace] = sealing{opened[0], epoch}
	return nil
}

// dataKeys reads the data keys of a workspace, the sealing one first.
func (v *Vault) dataKeys(ctx context.Context, workspace int64) (rows []wrappedKey, err error) {
	err = v.db.Read(ctx, func(q db.Q) (err error) {
		rows, err = db.Collect(q, readWrapped, `SELECT k.id, k.workspace_number, k.master_version, m.fingerprint, m.wrapped, k.wrapped, k.retired_at
			FROM vault_key k JOIN vault_master m ON m.version = k.master_version WHERE k.workspace_number = $1 ORDER BY k.id DESC`, workspace)
		return err
	})
	return rows, err
}

// makeDataKey creates the key that seals for a workspace. Several nodes may call it at
// once: one wins.
func (v *Vault) makeDataKey(ctx context.Context, workspace int64) error {
	for {
		current, err := v.currentMaster(ctx)
		if err == nil {
			err = v.obtain(ctx, current)
		}
		if err == nil {
			_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
				return struct{}{}, audit.None("a workspace gets its data key when it first needs one"), v.insertDataKey(tx, workspace)
			})
		}
		var rotated *rotatedError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &rotated) || ctx.Err() != nil:
			return fmt.Errorf("make a data key: %w", err)
		}
	}
}

// rotatedError is returned if the vault key was rotated after a node had read the current one. A retry reads the new
// one.
type rotatedError struct{ fingerprint string }

func (e *rotatedError) Error() string {
	return fmt.Sprintf("the vault key was rotated a moment ago to %s: try again", e.fingerprint)
}

// insertDataKey stores the key that seals for a workspace, unless it has one.
func (v *Vault) insertDataKey(tx *db.Tx, workspace int64) error {
	current, err := currentMaster(tx.Q)
	if err != nil {
		return err
	}
	v.mu.RLock()
	master := v.masters[current.fingerprint]
	v.mu.RUnlock()
	if master == nil {
		return &rotatedError{current.fingerprint}
	}
	var id int64
	if _, err := tx.Row(`UPDATE vault_counter SET last_id = last_id + 1 RETURNING last_id`).Scan(&id); err != nil {
		return err
	}
	wrapped, err := wrapKey(master, id, workspace, newKey())
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO vault_key (id, workspace_number, master_version, wrapped, created_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workspace_number) WHERE retired_at IS NULL DO NOTHING`, id, workspace, current.version, wrapped, tx.Now())
}
