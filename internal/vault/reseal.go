package vault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/work"
)

// resealSetting is the setting that records a reseal in progress. Its value is the id of
// the last older data key: everything that is sealed with that key or an earlier one is
// sealed again.
const resealSetting = "vault_reseal"

// Resealed is the result of a reseal.
type Resealed struct {
	Resumed bool  `json:"resumed"` // it continued an interrupted one
	Keys    int64 `json:"keys"`    // that were created
	Values  int64 `json:"values"`  // that were sealed again
	Lost    int64 `json:"lost"`    // that cannot be opened, and stay unchanged
}

// Reseal gives every workspace a new data key and seals all values again, while servers use
// the store. It continues an earlier one that was interrupted. progress is called after each batch.
func (v *Vault) Reseal(ctx context.Context, by db.Caller, progress func(done, total int64)) (Resealed, error) {
	if err := v.Start(ctx); err != nil {
		return Resealed{}, err
	}
	mark, resumed, err := v.markReseal(ctx)
	if err != nil {
		return Resealed{}, err
	}
	done := Resealed{Resumed: resumed}
	if done.Keys, err = v.replaceKeys(ctx, mark); err != nil {
		return done, err
	}
	_, err = db.Write(ctx, v.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		org, err := access.AuditOrganization(tx.Q, "")
		return struct{}{}, audit.Event{Action: audit.VaultResealed, OrganizationID: org,
			Description: "Made new data keys of the vault and began to seal everything anew"}, err
	})
	if err != nil {
		return done, err
	}
	total, err := v.sealedUpTo(ctx, mark)
	if err != nil {
		return done, err
	}
	old, err := v.keysUpTo(ctx, mark)
	if err != nil {
		return done, err
	}
	for _, key := range old {
		if err := v.load(ctx, key.workspace); err != nil {
			return done, err
		}
		for _, c := range columns() {
			if c.ofStore == (key.workspace == 0) && !c.passing {
				if err := v.resealColumn(ctx, c, key, &done, func() { progress(done.Values, total) }); err != nil {
					return done, err
				}
			}
		}
	}
	_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the note that a reseal runs"), tx.Exec(`DELETE FROM setting WHERE name = $1 AND value = $2`, resealSetting, strconv.FormatInt(mark, 10))
	})
	return done, err
}

// markReseal starts a reseal, or finds the one that was interrupted.
func (v *Vault) markReseal(ctx context.Context) (mark int64, resumed bool, err error) {
	var text string
	_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("the note that a reseal runs")
		found, err := tx.Row(`SELECT value FROM setting WHERE name = $1`, resealSetting).Scan(&text)
		if resumed = found; err != nil || found {
			return struct{}{}, exempt, err
		}
		var last int64
		if _, err := tx.Row(`SELECT last_id FROM vault_counter`).Scan(&last); err != nil {
			return struct{}{}, exempt, err
		}
		text = strconv.FormatInt(last, 10)
		return struct{}{}, exempt, tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2)`, resealSetting, text)
	})
	if err == nil {
		mark, err = strconv.ParseInt(text, 10, 64)
	}
	return mark, resumed, err
}

// keysUpTo lists the older data keys.
func (v *Vault) keysUpTo(ctx context.Context, mark int64) (keys []wrappedKey, err error) {
	err = v.db.Read(ctx, func(q db.Q) (err error) {
		keys, err = db.Collect(q, func(r db.Rows) wrappedKey { return wrappedKey{id: r.Int(0), workspace: r.Int(1), retired: r.Bool(2)} },
			`SELECT id, workspace_number, retired_at IS NOT NULL FROM vault_key WHERE id <= $1 ORDER BY id`, mark)
		return err
	})
	return keys, err
}

// replaceKeys retires the older data keys that still seal, and creates new ones.
func (v *Vault) replaceKeys(ctx context.Context, mark int64) (made int64, err error) {
	old, err := v.keysUpTo(ctx, mark)
	if err != nil {
		return 0, err
	}
	for _, key := range old {
		if key.retired {
			continue
		}
		_, err := db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			exempt := audit.None("the reseal is recorded once")
			if err := tx.Exec(`UPDATE vault_key SET retired_at = $2 WHERE id = $1 AND retired_at IS NULL`, key.id, tx.Now()); err != nil {
				return struct{}{}, exempt, err
			}
			return struct{}{}, exempt, v.insertDataKey(tx, key.workspace)
		})
		if err != nil {
			return made, fmt.Errorf("make a data key: %w", err)
		}
		made++
	}
	return made, nil
}

// sealedUpTo counts the values that older keys have sealed.
func (v *Vault) sealedUpTo(ctx context.Context, mark int64) (total int64, err error) {
	err = v.db.Read(ctx, func(q db.Q) error {
		for _, c := range columns() {
			if c.passing {
				continue
			}
			var n int64
			if _, err := q.Row(`SELECT count(*) FROM `+c.table+` WHERE sealed_by <= $1`, mark).Scan(&n); err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	return total, err
}

type sealedValue struct {
	id     string
	sealed []byte
}

// resealBatch is smaller than batch, since servers write during a reseal.
const resealBatch = 100

// resealColumn seals again the values of one column that one key has sealed.
func (v *Vault) resealColumn(ctx context.Context, c column, key wrappedKey, done *Resealed, progress func()) error {
	after := ""
	for {
		var some []sealedValue
		err := v.db.Read(ctx, func(q db.Q) (err error) {
			some, err = db.Collect(q, func(r db.Rows) sealedValue { return sealedValue{r.Text(0), clone(r, 1)} },
				`SELECT `+c.id+`, `+c.name+` FROM `+c.table+` WHERE sealed_by = $1 AND `+c.id+` > $2 ORDER BY `+c.id+` LIMIT $3`, key.id, after, resealBatch)
			return err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		after = some[len(some)-1].id
		opened := make([][]byte, len(some))
		for i, value := range some {
			opened[i], err = v.Open(key.workspace, c.context(value.id), value.sealed)
			if errors.Is(err, ErrLost) || errors.Is(err, ErrDamaged) {
				done.Lost++
				continue
			}
			if err != nil {
				return err
			}
			done.Values++
		}
		began := time.Now()
		_, err = db.Write(ctx, v.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			exempt := audit.None("the reseal is recorded once")
			for i, value := range some {
				if opened[i] == nil {
					continue
				}
				sealed, err := v.Seal(key.workspace, c.context(value.id), opened[i])
				if err != nil {
					return struct{}{}, exempt, err
				}
				if err := c.replace(tx, v, value.id, value.sealed, sealed, opened[i]); err != nil {
					return struct{}{}, exempt, err
				}
			}
			return struct{}{}, exempt, nil
		})
		if err != nil {
			return err
		}
		progress()
		if err := work.Sleep(ctx, time.Since(began)); err != nil { // half of the time is left for the writes of servers
			return err
		}
	}
}

// keepRetired is the minimum time that a retired data key stays. It is longer than that
// of stored answers, which do not refer to their key.
const keepRetired = 48 * time.Hour

// expireBatch is how many retired keys one call of Expire checks.
const expireBatch = 100

// Expire deletes some of the data keys that were retired long ago and that have sealed no
// remaining value. The next call continues where this one ended. Data keys with values that a
// lost key has sealed are never deleted, and must not block others.
func (v *Vault) Expire(tx *db.Tx) error {
	last := v.expired.Load()
	type retired struct{ id, at int64 }
	some, err := db.Collect(tx.Q, func(r db.Rows) retired { return retired{r.Int(0), r.Int(1)} },
		`SELECT id, retired_at FROM vault_key WHERE retired_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`, last, expireBatch)
	if err != nil {
		return err
	}
	var unused strings.Builder
	for _, c := range columns() {
		unused.WriteString(` AND NOT EXISTS (SELECT 1 FROM ` + c.table + ` WHERE sealed_by = $1)`)
	}
	v.expired.Store(0)
	for _, key := range some {
		if len(some) == expireBatch {
			v.expired.Store(key.id)
		}
		if key.at > tx.Now()-keepRetired.Milliseconds() {
			continue
		}
		if err := tx.Exec(`DELETE FROM vault_key WHERE id = $1`+unused.String(), key.id); err != nil {
			return err
		}
	}
	return nil
}

// Status is the state of the vault of a store.
type Status struct {
	Fingerprint string           `json:"fingerprint"` // of the current master key, "" for none
	Version     int64            `json:"version"`
	CreatedAt   int64            `json:"created_at"`
	Wrapped     bool             `json:"wrapped_by_program"`
	Problem     string           `json:"problem,omitempty"` // why the key cannot be used here
	Keys        int64            `json:"data_keys"`
	Retired     int64            `json:"retired_data_keys"`
	OldMaster   int64            `json:"data_keys_of_earlier_versions"`
	Sealed      map[string]int64 `json:"sealed"`        // values by table
	Waiting     int64            `json:"under_retired"` // values that a retired key has sealed
	Resealing   bool             `json:"reseal_interrupted_or_running"`
}

// Status reads the state of the vault. It needs no key.
func (v *Vault) Status(ctx context.Context) (Status, error) {
	s := Status{Sealed: map[string]int64{}}
	var current masterKey
	err := v.db.Read(ctx, func(q db.Q) (err error) {
		if err := q.Snapshot(); err != nil {
			return err
		}
		if current, err = currentMaster(q); err != nil {
			return err
		}
		if _, err := q.Row(`SELECT count(*), count(retired_at), count(CASE WHEN master_version < $1 THEN 1 END) FROM vault_key`, current.version).
			Scan(&s.Keys, &s.Retired, &s.OldMaster); err != nil {
			return err
		}
		for _, c := range columns() {
			var all, waiting int64
			if _, err := q.Row(`SELECT count(*), count(k.retired_at) FROM `+c.table+` t JOIN vault_key k ON k.id = t.sealed_by`).Scan(&all, &waiting); err != nil {
				return err
			}
			s.Sealed[c.table] = all
			if !c.passing {
				s.Waiting += waiting
			}
		}
		s.Resealing, err = q.Row(`SELECT value FROM setting WHERE name = $1`, resealSetting).Scan(new(string))
		return err
	})
	if err != nil {
		return s, err
	}
	s.Fingerprint, s.Version, s.CreatedAt, s.Wrapped = current.fingerprint, current.version, current.createdAt, current.wrapped != nil
	if err = ErrNone; current.version > 0 {
		err = v.obtain(ctx, current)
	}
	if err != nil {
		s.Problem = err.Error()
	}
	return s, nil
}
