package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

// A file rail keeps its record of sent payments in a folder. If the folder is another one, is not shared by all nodes, or has lost notes, a
// look-up would miss payments that the bank has. They would then be sent again. So the store remembers the identity of the folder. Each
// node compares them before it sends, and every second after that. The connector compares the identity under its lock, each time that it
// sends or looks up. A conflict stops sending by that connector:
//
//   - The store knows another folder, or none although this one is not new.
//   - The folder does not list a payment that the bank has accepted.
//   - The folder lists a payment that the store does not know: the store was rolled back.
//   - The folder cannot be read.
//
// It ends when the folder is right again, or when an operator adopts the folder (AdoptRecord).
//
// A folder that was restored from a backup lacks its newest notes. So the folder must list what the bank has accepted since the payout of
// the oldest open attempt was made. That includes ended attempts, and is limited to the newest comparedAccepted. Older notes may be
// deleted. Each attempt is stored before it is sent, so the store must know every payment that the folder lists. A node compares only what
// was listed since the last time (comparedSetting).

const (
	// recordSetting is the setting with the identity of a connector's record. conflictSetting is what a node has found to be wrong with a
	// record. Both are followed by the connector's name, and the latter by the identity of the record.
	recordSetting, conflictSetting = "rail_record:", "rail_record_conflict:"
	// adoptedSetting is when a record was adopted last. comparedSetting is the time up to which the store knows all payments in the record.
	// Both are followed by the connector's name.
	adoptedSetting, comparedSetting = "rail_record_adopted:", "rail_record_compared:"
	// recordReadEvery is how often a node checks a record for lost notes. heldReadEvery is how often it does if the record is not trusted.
	recordReadEvery, heldReadEvery = 5 * time.Minute, 10 * time.Second
	// clocksApart is how far the clocks of two nodes that send may be apart. A payment is in the record at most recordDelay after its time.
	clocksApart = 2 * maxSkew
	recordDelay = sendWindow + clocksApart
	// comparedAccepted bounds how many payments that the bank has accepted are compared with a record, besides the open ones.
	comparedAccepted = 500
)

// RecordConflict describes why the record of a connector is not trusted.
type RecordConflict struct {
	Connector string `json:"connector"`
	Identity  string `json:"identity"` // that of the record
	Reason    string `json:"reason"`
	// Missing are payments that the store has sent, or may have sent, and the record does not list. Open are other payments whose outcome
	// is unknown: if some are missing, the record may have lost these, too. Unknown are the first payments in the record that the store
	// does not know.
	Missing []string `json:"missing,omitempty"`
	Open    []string `json:"open,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
	// At is when the payments were read. Rails are those of the connector: payments that they claimed later may be missing, too.
	At    int64    `json:"at"`
	Rails []string `json:"rails,omitempty"`
}

// record is the state of a connector's record on a node.
type record struct {
	rail.Recorder
	connector rail.Connector
	trusted   atomic.Pointer[string] // its identity, once it was compared

	mu     sync.Mutex // held while it is compared
	readAt int64      // when it is read again
	reason string     // why it is not trusted
}

// identity returns the identity of the record if it is trusted, otherwise "".
func (r *record) identity() string {
	if identity := r.trusted.Load(); identity != nil {
		return *identity
	}
	return ""
}

// records returns the records of the connectors that keep one outside the store.
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

// check compares a record with the store, and stops or resumes sending. With fresh it reads the record even if that was read recently. It
// returns why the record cannot be trusted, or "".
func (d *Dispatcher) check(ctx context.Context, r *record, fresh bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fresh {
		r.readAt = 0
	}
	reason, err := d.compare(ctx, r)
	if err != nil {
		reason = "the folder cannot be compared with the store: " + err.Error()
	}
	if ctx.Err() != nil {
		return reason
	}
	if reason != "" {
		r.readAt = min(r.readAt, d.now()+heldReadEvery.Milliseconds())
	}
	if reason == r.reason {
		return reason
	}
	r.Hold(reason)
	if r.reason = reason; reason == "" {
		d.log.Info("a connector sends again", "connector", r.connector.Name())
		d.Wake()
		return ""
	}
	d.RecordConflicts.Add(1)
	d.log.Error("a connector sends nothing, because its folder does not agree with the store: see 'bursar admin rails status'",
		"connector", r.connector.Name(), "reason", reason)
	return reason
}

// confirm returns the answers of look-ups. If the connector keeps a record, it is read again before "not received" counts. The record may
// have lost this payment and others since it was compared last.
func (d *Dispatcher) confirm(ctx context.Context, of *rail.Rail, answers []answer) []answer {
	missing := func(a answer) bool { return a.outcome.State == rail.NotReceived }
	r := d.recordOf(of)
	if r == nil || !slices.ContainsFunc(answers, missing) {
		return answers
	}
	if reason := d.check(ctx, r, true); reason != "" {
		for i, a := range answers {
			if missing(a) {
				answers[i].outcome = rail.Outcome{State: rail.Unknown, Text: reason}
			}
		}
	}
	return answers
}

// compare returns why a record cannot be trusted, or "".
func (d *Dispatcher) compare(ctx context.Context, r *record) (reason string, err error) {
	name := r.connector.Name()
	identity, err := r.Identity(ctx)
	if err != nil {
		r.readAt = 0 // the whole record may be another one
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
		if found.Unknown, _, err = d.unknownIn(ctx, r, 0); err != nil {
			return "", err
		}
		if len(found.Unknown) > 0 || identity != "" {
			found.Reason = "the store does not know the folder"
		}
	case known != identity:
		found.Reason = "the folder is not the one that the store knows"
	}
	if err := d.findMissing(ctx, r, &found, before); err != nil {
		return "", err
	}
	switch {
	case found.Reason == "" && len(found.Missing) > 0:
		found.Reason = fmt.Sprintf("the folder does not list payments that the bank has accepted: %d", len(found.Missing))
	case found.Reason == "" && identity == "": // the first start
		if err := r.Identify(ctx, func(identity string) error { return d.remember(ctx, rememberFirst, recordSetting+name, identity) }); err != nil {
			return "", err
		}
		return d.compare(ctx, r) // another node may have been faster and have another folder
	case found.Reason == "":
		if found.Unknown, err = d.unknownSince(ctx, r, found.At); err != nil {
			return "", err
		}
		if len(found.Unknown) > 0 {
			found.Reason = "the folder lists payments that the store does not know"
		}
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

// remember stores a setting of a record.
func (d *Dispatcher) remember(ctx context.Context, statement, name, value string) error {
	_, err := db.Write(ctx, d.db, systemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the first start with an empty folder, and how far it was compared"), tx.Exec(statement, name, value)
	})
	return err
}

// unknownIn returns the payments in the record since a time that the store does not know, the first maxShown of them. It also reports
// whether there are any payments.
func (d *Dispatcher) unknownIn(ctx context.Context, r *record, since int64) (unknown []string, listed bool, err error) {
	var ids []any
	err = r.Recorded(ctx, since, func(p rail.Recorded) error {
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
	return unknown, len(ids) > 0, err
}

// unknownSince returns the payments that were listed since the last time and that the store does not know. If there are any, the store was
// rolled back, for example by a snapshot of its machine. A store whose rails are stopped was restored: readRecords compares it, and
// ResumeRails counts what it has found as known.
func (d *Dispatcher) unknownSince(ctx context.Context, r *record, now int64) ([]string, error) {
	name := comparedSetting + r.connector.Name()
	var compared int64
	var stopped bool
	err := d.db.Read(ctx, func(q db.Q) (err error) {
		if compared, err = readTime(q, name); err != nil {
			return err
		}
		stopped, err = q.Row(readSetting, stoppedSetting).Scan(new(string))
		return err
	})
	switch {
	case err != nil || stopped:
		return nil, err
	case compared == 0: // the first time
		return nil, d.remember(ctx, writeSetting, name, comparedBy(now))
	}
	unknown, listed, err := d.unknownIn(ctx, r, compared)
	if next := now - recordDelay.Milliseconds(); err == nil && len(unknown) == 0 && listed && next > compared {
		err = d.remember(ctx, writeSetting, name, strconv.FormatInt(next, 10))
	}
	return unknown, err
}

// comparedBy returns the value of comparedSetting by which everything that a record lists at a time counts as known.
func comparedBy(now int64) string {
	return strconv.FormatInt(now+(clocksApart+time.Second).Milliseconds(), 10) // the record has times to the second
}

// readTime reads a setting that contains a time, 0 if there is none.
func readTime(q db.Q, name string) (at int64, err error) {
	var text string
	if is, err := q.Row(readSetting, name).Scan(&text); err != nil || !is {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// findMissing finds the payments that the record should list and does not. Of a record without other faults these are what the bank has
// accepted, and what was missing before, until it is listed again. Otherwise they are all payments that have not ended.
func (d *Dispatcher) findMissing(ctx context.Context, r *record, found *RecordConflict, before RecordConflict) error {
	if len(found.Rails) == 0 {
		return nil
	}
	missing, open, since := map[string]bool{}, map[string]int64{}, d.now()
	err := d.db.Read(ctx, func(q db.Q) error {
		sql := openAttempts(mode(r.connector.Sandbox()), found.Rails)
		sql.Add(` AND a.accepted >= `, 0) // attempts that are never submitted again have less
		sql.Add(` ORDER BY a.ask_at, a.id`)
		err := q.EachOf(sql, func(r db.Rows) error {
			id, accepted := r.Text(0), r.Int(2) > 0
			open[id], since = r.Int(1), min(since, r.Int(3))
			if accepted || found.Reason != "" {
				missing[id] = true
			}
			return nil
		})
		if err != nil || found.Reason != "" {
			return err
		}
		adopted, err := readTime(q, adoptedSetting+found.Connector)
		if err != nil {
			return err
		}
		return q.EachOf(acceptedSince(max(since, adopted), mode(r.connector.Sandbox()), found.Rails), func(r db.Rows) error {
			missing[r.Text(0)] = true
			return nil
		})
	})
	since -= clocksApart.Milliseconds()
	if found.Reason == "" && len(before.Missing) > 0 {
		since = 0
		for _, id := range before.Missing {
			missing[id] = true
		}
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	err = r.Recorded(ctx, since, func(p rail.Recorded) error {
		delete(missing, p.EndToEndID)
		if notPaid, is := open[p.EndToEndID]; is && int64(p.Submission) > notPaid {
			delete(open, p.EndToEndID)
		}
		return nil
	})
	found.Missing = slices.Sorted(maps.Keys(missing))
	if len(missing) > 0 || found.Reason != "" {
		maps.DeleteFunc(open, func(id string, _ int64) bool { return missing[id] })
		found.Open = slices.Sorted(maps.Keys(open))
	}
	return err
}

// openAttempts begins a query for the attempts by some rails that have not ended. It selects their end-to-end ids and their highest
// submissions that were not paid according to people. It also selects what the rail has acknowledged, and when their payouts were made.
func openAttempts(mode string, rails []string) *db.Statement {
	sql := db.NewStatement(`SELECT a.end_to_end_id, a.not_paid, a.accepted, payout.created_at FROM payout_attempt a JOIN payout ON payout.id = a.payout_id
		WHERE a.state IN ('sending', 'accepted', 'unknown') AND payout.mode = `, mode)
	sql.AddList(` AND payout.rail IN (`, texts(rails))
	return sql
}

// acceptedSince returns a query for the newest attempts by some rails that the bank has accepted, among those made since a time.
func acceptedSince(since int64, mode string, rails []string) *db.Statement {
	sql := db.NewStatement(`SELECT a.end_to_end_id FROM payout_attempt a JOIN payout ON payout.id = a.payout_id WHERE a.accepted > 0 AND a.id >= `, db.FirstID("att", since))
	sql.Add(` AND a.created_at >= `, since) // a recovered attempt is older than its id
	sql.Add(` AND payout.mode = `, mode)
	sql.AddList(` AND payout.rail IN (`, texts(rails))
	sql.Add(` ORDER BY a.id DESC`)
	sql.Limit(comparedAccepted)
	return sql
}

// texts converts a list to values of a statement.
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
	// rememberFirst stores the identity of a new record. If the folders of two nodes are not shared, the first node wins.
	rememberFirst = `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
)

func conflictName(connector, identity string) string {
	return conflictSetting + connector + ":" + identity
}

// storeConflict stores what a node has found, unless it is already stored.
func (d *Dispatcher) storeConflict(ctx context.Context, before, found RecordConflict) error {
	if before.Reason == found.Reason && slices.Equal(before.Missing, found.Missing) && slices.Equal(before.Open, found.Open) &&
		slices.Equal(before.Unknown, found.Unknown) && slices.Equal(before.Rails, found.Rails) {
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

// clearConflicts removes the conflicts that nodes have found in the records of a connector. A node that still sees another record stores
// its conflict again.
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

// ReadConflicts returns the conflicts that nodes have found in the records of a connector, or of all connectors if connector is empty.
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

// AdoptRecord makes a found record of a connector the one that the store knows. Payments that it does not list may have been paid: they are
// contradicted, and not sent again. The identity chooses one of several records. Without confirm nothing is changed. It returns the
// conflict, and how many payouts need attention after that.
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
		for _, setting := range [][2]string{
			{recordSetting, found.Identity}, {adoptedSetting, strconv.FormatInt(tx.Now(), 10)}, {comparedSetting, comparedBy(tx.Now())},
		} {
			if err := tx.Exec(writeSetting, setting[0]+connector, setting[1]); err != nil {
				return found, none, err
			}
		}
		if err := deleteConflicts(tx, connector); err != nil {
			return found, none, err
		}
		return found, audit.All(append([]audit.Event{event}, c.events...)...), c.store(tx, nil)
	})
	return found, contradicted, err
}

// abandon contradicts open payments that a record does not list, or that were claimed after it was read.
func (c *change) abandon(tx *db.Tx, found RecordConflict) error {
	ids := slices.Concat(found.Missing, found.Open)
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
