package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// A file rail keeps its record of what it has sent in a folder. If the folder is another one, is not shared by all nodes, or has
// lost notes, a look-up would not find payments that the bank has, and they would be sent again. So the store remembers
// the identity of the folder. Each node compares them before it sends, and every second after that, and the connector compares
// the identity under its lock, each time that it sends or looks up. A conflict stops sending by that connector:
//
//   - The store knows another folder, or none although this one is not new.
//   - The folder does not list a payment that the bank has accepted.
//   - The folder cannot be read.
//
// It ends when the folder is right again, or when an operator adopts the folder (AdoptRecord).

const (
	// recordSetting is the setting with the identity of a connector's record, and conflictSetting what a node has found to be
	// wrong with a record. Both are followed by the connector's name, and the latter by the identity of the record.
	recordSetting, conflictSetting = "rail_record:", "rail_record_conflict:"
	// recordReadEvery is how often a node looks for what a record has lost, and heldReadEvery how often if it is not trusted.
	recordReadEvery, heldReadEvery = 5 * time.Minute, 10 * time.Second
)

// RecordConflict is why the record of a connector is not trusted.
type RecordConflict struct {
	Connector string `json:"connector"`
	Identity  string `json:"identity"` // that of the record
	Reason    string `json:"reason"`
	// Missing are payments that the store has sent, or may have sent, and the record does not list. Unknown are the first payments
	// in the record that the store does not know.
	Missing []string `json:"missing,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
	// At is when the payments were read, and Rails are those of the connector: what was claimed by them later may be missing, too.
	At    int64    `json:"at"`
	Rails []string `json:"rails,omitempty"`
}

// record is what a node knows about the record of a connector.
type record struct {
	rail.Recorder
	connector rail.Connector
	trusted   atomic.Pointer[string] // its identity, once it was compared
	readAt    int64                  // when it is read again
	reason    string                 // why it is not trusted
}

// identity is that of the record if it is trusted, otherwise "".
func (r *record) identity() string {
	if identity := r.trusted.Load(); identity != nil {
		return *identity
	}
	return ""
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

// recordOf returns the record of a rail's connector, nil if it keeps none.
func (d *Dispatcher) recordOf(of *rail.Rail) *record {
	for _, r := range d.records {
		if r.connector == of.Connector {
			return r
		}
	}
	return nil
}

// check compares a record with the store, and stops or resumes sending.
func (d *Dispatcher) check(ctx context.Context, r *record) {
	reason, err := d.compare(ctx, r)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		reason = "the folder cannot be compared with the store: " + err.Error()
	}
	if reason != "" {
		r.readAt = min(r.readAt, d.now()+heldReadEvery.Milliseconds())
	}
	if reason == r.reason {
		return
	}
	r.Hold(reason)
	if r.reason = reason; reason == "" {
		d.log.Info("a connector sends again", "connector", r.connector.Name())
		d.Wake()
		return
	}
	d.RecordConflicts.Add(1)
	d.log.Error("a connector sends nothing, because its folder does not agree with the store: see 'bursar admin rails status'",
		"connector", r.connector.Name(), "reason", reason)
}

// compare returns why a record cannot be trusted, or "".
func (d *Dispatcher) compare(ctx context.Context, r *record) (reason string, err error) {
	name := r.connector.Name()
	identity, err := r.Identity(ctx)
	if err != nil {
		r.readAt = 0 // all of it may be another one
		return "", err
	}
	var known string
	var before RecordConflict
	err = d.db.Read(ctx, func(q db.Q) error {
		if _, err := q.Row(readSetting, recordSetting+name).Scan(&known); err != nil {
			return err
		}
		before, err = readConflict(q, name, identity)
		return err
	})
	if err != nil {
		return "", err
	}
	same := known != "" && known == identity && identity == r.identity()
	if d.now() < r.readAt && (same || r.reason != "" && before.Reason == r.reason) {
		return r.reason, nil
	}
	found := RecordConflict{Connector: name, Identity: identity, At: d.now()}
	for _, one := range d.rails.All() {
		if one.Connector == r.connector {
			found.Rails = append(found.Rails, one.Name)
		}
	}
	switch {
	case known == "":
		if found.Unknown, err = d.unknownIn(ctx, r); err != nil {
			return "", err
		}
		if len(found.Unknown) > 0 || identity != "" {
			found.Reason = "the store does not know the folder"
		}
	case known != identity:
		found.Reason = "the folder is not the one that the store knows"
	}
	if found.Missing, err = d.missingIn(ctx, r, found, before); err != nil {
		return "", err
	}
	switch {
	case found.Reason == "" && len(found.Missing) > 0:
		found.Reason = fmt.Sprintf("the folder does not list payments that the bank has accepted: %d", len(found.Missing))
	case found.Reason == "" && identity == "": // the first start
		if err := r.Identify(ctx, func(identity string) error { return d.remember(ctx, name, identity) }); err != nil {
			return "", err
		}
		return d.compare(ctx, r) // another node may have been faster, with another folder
	}
	r.readAt = d.now() + recordReadEvery.Milliseconds()
	if found.Reason == "" {
		if err := d.clearConflicts(ctx, name); err != nil {
			return "", err
		}
		r.Trust(identity)
		r.trusted.Store(&identity)
		return "", nil
	}
	r.trusted.Store(new(string))
	if identity == "" { // so that it can be adopted
		err = r.Identify(ctx, func(identity string) error {
			found.Identity = identity
			return nil
		})
	}
	if err == nil {
		err = d.storeConflict(ctx, before, found)
	}
	return found.Reason, err
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
	err = r.Recorded(ctx, 0, func(p rail.Recorded) error {
		ids = append(ids, p.EndToEndID)
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

// missingIn returns payments that have not ended and that the record does not list. Of a record without other faults these are
// the ones that the bank has accepted, and those that were missing before, until they are listed again.
func (d *Dispatcher) missingIn(ctx context.Context, r *record, found, before RecordConflict) ([]string, error) {
	if len(found.Rails) == 0 {
		return nil, nil
	}
	open, since := map[string]bool{}, d.now()
	err := d.db.Read(ctx, func(q db.Q) error {
		sql := openAttempts(mode(r.connector.Sandbox()), found.Rails)
		least := 0 // those that are never submitted again have less
		if found.Reason == "" {
			least = 1
		}
		sql.Add(` AND a.accepted >= `, least)
		sql.Add(` ORDER BY a.ask_at, a.id`)
		return q.EachOf(sql, func(r db.Rows) error {
			open[r.Text(0)], since = true, min(since, r.Int(1))
			return nil
		})
	})
	if found.Reason == "" && len(before.Missing) > 0 {
		since = 0
		for _, id := range before.Missing {
			open[id] = true
		}
	}
	if err != nil || len(open) == 0 {
		return nil, err
	}
	err = r.Recorded(ctx, since, func(p rail.Recorded) error {
		delete(open, p.EndToEndID)
		return nil
	})
	return slices.Sorted(maps.Keys(open)), err
}

// openAttempts begins a query for the attempts by some rails that have not ended: their end-to-end ids, and when their payouts
// were made.
func openAttempts(mode string, rails []string) *db.Statement {
	sql := db.NewStatement(`SELECT a.end_to_end_id, payout.created_at FROM payout_attempt a JOIN payout ON payout.id = a.payout_id
		WHERE a.state IN ('sending', 'accepted', 'unknown') AND payout.mode = `, mode)
	sql.AddList(` AND payout.rail IN (`, texts(rails))
	return sql
}

// texts are values of a statement.
func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}

const (
	readSetting  = `SELECT value FROM setting WHERE name = $1`
	writeSetting = `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

func conflictName(connector, identity string) string {
	return conflictSetting + connector + ":" + identity
}

// storeConflict stores what a node has found, unless it is known.
func (d *Dispatcher) storeConflict(ctx context.Context, before, found RecordConflict) error {
	if before.Reason == found.Reason && slices.Equal(before.Missing, found.Missing) && slices.Equal(before.Unknown, found.Unknown) && slices.Equal(before.Rails, found.Rails) {
		return nil
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the log of the node has it"), tx.Exec(writeSetting, conflictName(found.Connector, found.Identity), string(text))
	})
	return err
}

// clearConflicts removes what nodes have found about the records of a connector. A node that still sees another record stores
// that again.
func (d *Dispatcher) clearConflicts(ctx context.Context, connector string) error {
	var list []RecordConflict
	err := d.db.Read(ctx, func(q db.Q) (err error) {
		list, err = ReadConflicts(q, connector)
		return err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the log of the node has it"), deleteConflicts(tx, connector)
	})
	return err
}

func deleteConflicts(tx *db.Tx, connector string) error {
	prefix := conflictName(connector, "")
	return tx.Exec(`DELETE FROM setting WHERE name >= $1 AND name < $2`, prefix, prefix+"~")
}

func readConflict(q db.Q, connector, identity string) (found RecordConflict, err error) {
	var text string
	if is, err := q.Row(readSetting, conflictName(connector, identity)).Scan(&text); err != nil || !is {
		return found, err
	}
	return found, json.Unmarshal([]byte(text), &found)
}

// ReadConflicts returns what nodes have found to be wrong with the records of a connector, or of all if connector is empty.
func ReadConflicts(q db.Q, connector string) (list []RecordConflict, err error) {
	prefix := conflictSetting
	if connector != "" {
		prefix = conflictName(connector, "")
	}
	err = q.Each(func(r db.Rows) error {
		var found RecordConflict
		err := json.Unmarshal([]byte(r.Text(0)), &found)
		list = append(list, found)
		return err
	}, `SELECT value FROM setting WHERE name >= $1 AND name < $2 ORDER BY name`, prefix, prefix+"~")
	return list, err
}

// Errors of AdoptRecord.
var (
	ErrNoConflict     = errors.New("there is nothing to adopt: no server has found anything wrong with the folder of this connector")
	ErrSeveralFolders = errors.New("servers have found several folders of this connector")
)

// AdoptRecord makes the record of a connector that was found the one that the store knows. Payments that it does not list may have
// been paid: they are contradicted, and not sent again. The identity chooses one of several records. Without confirm nothing
// is changed. It returns what was found, and how many payouts need attention now.
func AdoptRecord(ctx context.Context, d *db.DB, by db.Caller, connector, identity string, confirm bool) (found RecordConflict, contradicted int, err error) {
	found, err = db.Write(ctx, d, by, func(tx *db.Tx) (RecordConflict, audit.Event, error) {
		none := audit.None("nothing was adopted")
		list, err := ReadConflicts(tx.Q, connector)
		if identity != "" {
			list = slices.DeleteFunc(list, func(c RecordConflict) bool { return c.Identity != identity })
		}
		switch {
		case err != nil:
			return found, none, err
		case len(list) == 0:
			return found, none, ErrNoConflict
		case len(list) > 1:
			identities := make([]string, len(list))
			for i, one := range list {
				identities[i] = one.Identity
			}
			return found, none, fmt.Errorf("%w: %s", ErrSeveralFolders, strings.Join(identities, ", "))
		case !confirm:
			return list[0], none, nil
		}
		found := list[0]
		c := newChange(tx.Now(), nil)
		if err := c.abandon(tx, found); err != nil {
			return found, none, err
		}
		contradicted = len(c.contradicted)
		event := audit.Event{Action: audit.RailAdopted, Description: fmt.Sprintf("Adopted the folder of %s (%s); payouts that need attention: %d", connector, found.Reason, contradicted)}
		if err := tx.Exec(writeSetting, recordSetting+connector, found.Identity); err != nil {
			return found, none, err
		}
		if err := deleteConflicts(tx, connector); err != nil {
			return found, none, err
		}
		return found, audit.All(append([]audit.Event{event}, c.events...)...), c.store(tx, nil)
	})
	return found, contradicted, err
}

// abandon contradicts the payments that a record does not list, or that were claimed after it was read.
func (c *change) abandon(tx *db.Tx, found RecordConflict) error {
	ids := found.Missing
	if len(found.Rails) > 0 {
		sql := openAttempts(mode(false), found.Rails)
		sql.Add(` AND a.accepted >= `, 0)
		sql.Add(` AND a.claimed_at >= `, found.At)
		sql.Add(` ORDER BY a.ask_at, a.id`)
		if err := tx.EachOf(sql, func(r db.Rows) error {
			ids = append(ids, r.Text(0))
			return nil
		}); err != nil {
			return err
		}
	}
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), dispatchBatch) {
		attempts, err := findAttempts(tx.Q, texts(some), tx.ForUpdate)
		if err != nil {
			return err
		}
		for _, id := range some {
			if a := attempts[id]; a != nil && a.open() {
				c.attempts[a.id] = a
				a.acknowledge(unidentified)
				c.contradict(a, fmt.Sprintf("the folder of %s was replaced, and the new one does not list attempt %d", found.Connector, a.number))
			}
		}
	}
	return nil
}
