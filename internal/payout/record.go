package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// A file rail keeps its record of what it has sent in a folder. If the folder is another one, is not shared by all nodes, or has
// lost notes, a look-up would not find payments that the bank has, and they would be sent again. So the store remembers
// the identity of the folder, and each node compares them before it sends, and every second after that. A conflict
// stops sending by that connector until an operator adopts the folder (AdoptRecord):
//
//   - The store knows another folder, or none although this one is not new.
//   - The folder does not list a payment that the bank has accepted.
//
// A folder that cannot be read stops sending until it can.

const (
	// recordSetting is the setting with the identity of a connector's record, and conflictSetting what a node has found to be
	// wrong with it. Each is followed by the connector's name.
	recordSetting, conflictSetting = "rail_record:", "rail_record_conflict:"
	// recordReadEvery is how often a node looks for what the record has lost.
	recordReadEvery = 5 * time.Minute
)

// RecordConflict is why the record of a connector is not trusted.
type RecordConflict struct {
	Connector string `json:"connector"`
	Identity  string `json:"identity"` // that of the record that was found
	Reason    string `json:"reason"`
	// Missing are payments that the store has sent, or may have sent, and the record does not list. Unknown are payments in the
	// record that the store does not know, the first of them.
	Missing []string `json:"missing,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
}

// record is what a node knows about the record of a connector.
type record struct {
	rail.Recorder
	connector rail.Connector
	readAt    int64  // when it was last searched for what is missing
	reason    string // why it is not trusted
}

// records are those of the connectors that keep one outside of the store.
func records(rails *rail.Rails) (list []*record) {
	for _, c := range rails.Connectors() {
		if r, ok := c.(rail.Recorder); ok {
			list = append(list, &record{Recorder: r, connector: c})
		}
	}
	return list
}

// check compares a record with the store, and stops or resumes sending.
func (d *Dispatcher) check(ctx context.Context, r *record) {
	conflict, err := d.compare(ctx, r)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		conflict.Reason = "the folder cannot be compared with the store: " + err.Error()
	}
	if conflict.Reason == r.reason {
		return
	}
	r.Hold(conflict.Reason)
	if r.reason = conflict.Reason; r.reason == "" {
		d.log.Info("a connector sends again", "connector", r.connector.Name())
		d.Wake()
		return
	}
	d.RecordConflicts.Add(1)
	d.log.Error("a connector sends nothing, because its folder does not agree with the store: see 'bursar admin rails status'",
		"connector", r.connector.Name(), "reason", r.reason)
}

// compare returns a conflict without reason if the record can be trusted.
func (d *Dispatcher) compare(ctx context.Context, r *record) (found RecordConflict, err error) {
	name := r.connector.Name()
	var known string
	var before RecordConflict
	err = d.db.Read(ctx, func(q db.Q) error {
		if _, err := q.Row(readSetting, recordSetting+name).Scan(&known); err != nil {
			return err
		}
		before, err = readConflict(q, name)
		return err
	})
	found.Connector = name
	if err == nil {
		found.Identity, err = r.Identity(ctx)
	}
	if err != nil {
		return found, err
	}
	trusted := known != "" && known == found.Identity
	switch {
	case trusted && before.Identity == known:
		return before, nil // until an operator adopts it
	case !trusted && before.Reason != "" && before.Identity == found.Identity && before.Reason == r.reason:
		return before, nil
	case trusted && d.now() < r.readAt+recordReadEvery.Milliseconds():
		return found, nil
	case known == "":
		if found.Unknown, err = d.unknownIn(ctx, r); err != nil {
			return found, err
		}
		if len(found.Unknown) == 0 && found.Identity == "" {
			return found, r.Identify(ctx, func(identity string) error { return d.remember(ctx, name, identity) })
		}
		found.Reason = "the store does not know the folder"
	case !trusted:
		found.Reason = "the folder is not the one that the store knows"
	}
	if found.Missing, err = d.missingIn(ctx, r, trusted); err != nil {
		return found, err
	}
	if trusted {
		r.readAt = d.now()
		if len(found.Missing) == 0 {
			return found, d.clearConflict(ctx, before)
		}
		found.Reason = fmt.Sprintf("the folder does not list payments that the bank has accepted: %d", len(found.Missing))
	}
	if found.Identity == "" { // so that it can be adopted
		err = r.Identify(ctx, func(identity string) error {
			found.Identity = identity
			return nil
		})
	}
	if err == nil {
		err = d.storeConflict(ctx, found)
	}
	return found, err
}

// remember stores the identity of a new record. Of two nodes whose folders are not shared, the first one wins.
func (d *Dispatcher) remember(ctx context.Context, connector, identity string) error {
	_, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the first start with an empty folder"),
			tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, recordSetting+connector, identity)
	})
	return err
}

// unknownIn returns payments in the record that the store does not know, the first maxShown of them.
func (d *Dispatcher) unknownIn(ctx context.Context, r *record) (unknown []string, err error) {
	var ids []any
	err = r.Recorded(ctx, 0, func(id string) error {
		ids = append(ids, id)
		return nil
	})
	for some := range slices.Chunk(ids, dispatchBatch) {
		if err != nil || len(unknown) >= maxShown {
			break
		}
		var found map[string]*attempt
		err = d.db.Read(ctx, func(q db.Q) error {
			found, err = findAttempts(q, some, func(sql string) string { return sql })
			return err
		})
		for _, id := range some {
			if found[id.(string)] == nil && len(unknown) < maxShown {
				unknown = append(unknown, id.(string))
			}
		}
	}
	return unknown, err
}

// missingIn returns payments that have not ended and that the record does not list: those that the bank has accepted, or all.
func (d *Dispatcher) missingIn(ctx context.Context, r *record, accepted bool) ([]string, error) {
	var rails []any
	for _, one := range d.rails.All() {
		if one.Connector == r.connector {
			rails = append(rails, one.Name)
		}
	}
	open, since := map[string]bool{}, d.now()
	err := d.db.Read(ctx, func(q db.Q) error {
		sql := db.NewStatement(`SELECT a.end_to_end_id, payout.created_at FROM payout_attempt a JOIN payout ON payout.id = a.payout_id
			WHERE a.state IN ('sending', 'accepted', 'unknown') AND payout.mode = `, mode(r.connector.Sandbox()))
		addList(sql, ` AND payout.rail IN (`, rails)
		least := 0 // those that are never submitted again have less
		if accepted {
			least = 1
		}
		sql.Add(` AND a.accepted >= `, least)
		sql.Add(` ORDER BY a.ask_at, a.id`)
		return q.EachOf(sql, func(r db.Rows) error {
			open[r.Text(0)], since = true, min(since, r.Int(1))
			return nil
		})
	})
	if err != nil || len(open) == 0 {
		return nil, err
	}
	err = r.Recorded(ctx, since, func(id string) error {
		delete(open, id)
		return nil
	})
	return slices.Sorted(maps.Keys(open)), err
}

const (
	readSetting  = `SELECT value FROM setting WHERE name = $1`
	writeSetting = `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

func (d *Dispatcher) storeConflict(ctx context.Context, found RecordConflict) error {
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the log of the node has it"), tx.Exec(writeSetting, conflictSetting+found.Connector, string(text))
	})
	return err
}

// clearConflict removes what a node has found about another folder than the one that the store knows. If it still sees that
// folder, it stores it again.
func (d *Dispatcher) clearConflict(ctx context.Context, before RecordConflict) error {
	if before.Reason == "" {
		return nil
	}
	_, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the log of the node has it"), tx.Exec(`DELETE FROM setting WHERE name = $1`, conflictSetting+before.Connector)
	})
	return err
}

func readConflict(q db.Q, connector string) (found RecordConflict, err error) {
	var text string
	if is, err := q.Row(readSetting, conflictSetting+connector).Scan(&text); err != nil || !is {
		return found, err
	}
	return found, json.Unmarshal([]byte(text), &found)
}

// ReadConflicts returns the records that are not trusted, by connector.
func ReadConflicts(q db.Q) (list []RecordConflict, err error) {
	err = q.Each(func(r db.Rows) error {
		var found RecordConflict
		err := json.Unmarshal([]byte(r.Text(0)), &found)
		list = append(list, found)
		return err
	}, `SELECT value FROM setting WHERE name >= $1 AND name < $2 ORDER BY name`, conflictSetting, conflictSetting+"~")
	return list, err
}

// ErrNoConflict is returned if there is nothing to adopt.
var ErrNoConflict = errors.New("no server has found anything wrong with the record of this connector")

// AdoptRecord makes the record of a connector that was found the one that the store knows. Payments that it does not list may have
// been paid: they are contradicted, and not sent again. Without confirm it only returns what was found.
func AdoptRecord(ctx context.Context, d *db.DB, by db.Caller, connector string, confirm bool) (RecordConflict, error) {
	return db.Write(ctx, d, by, func(tx *db.Tx) (RecordConflict, audit.Event, error) {
		none := audit.None("nothing was adopted")
		found, err := readConflict(tx.Q, connector)
		if err == nil && found.Reason == "" {
			err = ErrNoConflict
		}
		if err != nil || !confirm {
			return found, none, err
		}
		c := newChange(tx.Now(), nil)
		event := audit.Event{Action: audit.RailAdopted, Description: fmt.Sprintf("Adopted the folder of %s (%s); payments that it does not list: %d", connector, found.Reason, len(found.Missing))}
		for some := range slices.Chunk(found.Missing, dispatchBatch) {
			ids := make([]any, len(some))
			for i, id := range some {
				ids[i] = id
			}
			attempts, err := findAttempts(tx.Q, ids, tx.ForUpdate)
			if err != nil {
				return found, none, err
			}
			for _, id := range some {
				if a := attempts[id]; a != nil && a.open() {
					c.attempts[a.id] = a
					a.acknowledge(unidentified)
					c.contradict(a, fmt.Sprintf("the folder of %s was replaced, and the new one does not list attempt %d", connector, a.number))
				}
			}
		}
		if err := tx.Exec(writeSetting, recordSetting+connector, found.Identity); err != nil {
			return found, none, err
		}
		if err := tx.Exec(`DELETE FROM setting WHERE name = $1`, conflictSetting+connector); err != nil {
			return found, none, err
		}
		return found, audit.All(append([]audit.Event{event}, c.events...)...), c.store(tx, nil)
	})
}
