package payout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/rail"
)

const (
	// recordSetting is the setting with the identity of a connector's record. conflictSetting is what a node has found to be wrong with a
	// record. Both are followed by the connector's name, and the latter by the identity of the record.
	recordSetting, conflictSetting = "rail_record:", "rail_record_conflict:"
	// adoptedSetting is when a record was adopted last. comparedSetting is the time up to which the store knows all payments in the record.
	// Both are followed by the connector's name.
	adoptedSetting, comparedSetting = "rail_record_adopted:", "rail_record_compared:"
	// clocksApart is how far the clocks of two nodes that send may be apart. A payment is in the record at most recordDelay after its time.
	clocksApart = 2 * MaxSkew
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

// KnownRecord returns the identity of the connector's record that the store knows, "" if it knows none, and what was found before to be wrong
// with the record of an identity.
func (s *Sending) KnownRecord(ctx context.Context, connector, identity string) (known string, before RecordConflict, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		if _, err := q.Row(readSetting, recordSetting+connector).Scan(&known); err != nil {
			return err
		}
		before, err = readConflict(q, connector, identity)
		return err
	})
	return known, before, err
}

// RememberRecord stores the identity of a new record. If the folders of two nodes are not shared, the first node wins.
func (s *Sending) RememberRecord(ctx context.Context, connector, identity string) error {
	return s.remember(ctx, rememberFirst, recordSetting+connector, identity)
}

// remember stores a setting of a record.
func (s *Sending) remember(ctx context.Context, statement, name, value string) error {
	_, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the first start with an empty folder, and how far it was compared"), tx.Exec(statement, name, value)
	})
	return err
}

// UnknownIn returns the payments in the record since a time that the store does not know, the first maxShown of them. It also reports
// whether there are any payments.
func (s *Sending) UnknownIn(ctx context.Context, r rail.Recorder, since int64) (unknown []string, listed bool, err error) {
	var ids []any
	err = r.Recorded(ctx, since, func(p rail.Recorded) error {
		ids = append(ids, p.EndToEndID)
		return nil
	})
	for some := range slices.Chunk(ids, SendingBatch) {
		if err != nil || len(unknown) >= maxShown {
			break
		}
		var found map[string]*attempt
		err = s.db.Read(ctx, func(q db.Q) error {
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

// UnknownSince returns the payments that were listed since the last time and that the store does not know. If there are any, the store was
// rolled back, for example by a snapshot of its machine. A store whose rails are stopped was restored: readRecords compares it, and
// ResumeRails counts what it has found as known.
func (s *Sending) UnknownSince(ctx context.Context, r rail.Recorder, connector string, now int64) ([]string, error) {
	name := comparedSetting + connector
	var compared int64
	var stopped bool
	err := s.db.Read(ctx, func(q db.Q) (err error) {
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
		return nil, s.remember(ctx, writeSetting, name, comparedBy(now))
	}
	unknown, listed, err := s.UnknownIn(ctx, r, compared)
	if next := now - recordDelay.Milliseconds(); err == nil && len(unknown) == 0 && listed && next > compared {
		err = s.remember(ctx, writeSetting, name, strconv.FormatInt(next, 10))
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

// FindMissing finds the payments that the record should list and does not. Of a record without other faults these are what the bank has
// accepted, and what was missing before, until it is listed again. Otherwise they are all payments that have not ended.
func (s *Sending) FindMissing(ctx context.Context, r rail.Recorder, sandbox bool, found *RecordConflict, before RecordConflict) error {
	if len(found.Rails) == 0 {
		return nil
	}
	missing, open, since := map[string]bool{}, map[string]int64{}, s.now()
	err := s.db.Read(ctx, func(q db.Q) error {
		sql := openAttempts(mode(sandbox), found.Rails)
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
		return q.EachOf(acceptedSince(max(since, adopted), mode(sandbox), found.Rails), func(r db.Rows) error {
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
	sql.AddList(` AND payout.rail IN (`, db.Args(rails))
	return sql
}

// acceptedSince returns a query for the newest attempts by some rails that the bank has accepted, among those made since a time.
func acceptedSince(since int64, mode string, rails []string) *db.Statement {
	sql := db.NewStatement(`SELECT a.end_to_end_id FROM payout_attempt a JOIN payout ON payout.id = a.payout_id WHERE a.accepted > 0 AND a.id >= `, db.FirstID("att", since))
	sql.Add(` AND a.created_at >= `, since) // a recovered attempt is older than its id
	sql.Add(` AND payout.mode = `, mode)
	sql.AddList(` AND payout.rail IN (`, db.Args(rails))
	sql.Add(` ORDER BY a.id DESC`)
	sql.Limit(comparedAccepted)
	return sql
}

const (
	readSetting   = `SELECT value FROM setting WHERE name = $1`
	writeSetting  = `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	rememberFirst = `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
)

func conflictName(connector, identity string) string {
	return conflictSetting + connector + ":" + identity
}

// StoreConflict stores what a node has found, unless it is already stored.
func (s *Sending) StoreConflict(ctx context.Context, before, found RecordConflict) error {
	if before.Reason == found.Reason && slices.Equal(before.Missing, found.Missing) && slices.Equal(before.Open, found.Open) &&
		slices.Equal(before.Unknown, found.Unknown) && slices.Equal(before.Rails, found.Rails) {
		return nil
	}
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	_, err = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("the log of the node has it"), tx.Exec(writeSetting, conflictName(found.Connector, found.Identity), string(text))
	})
	return err
}

// ClearConflicts removes the conflicts that nodes have found in the records of a connector. A node that still sees another record stores
// its conflict again.
func (s *Sending) ClearConflicts(ctx context.Context, connector string) error {
	var list []RecordConflict
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		list, err = ReadConflicts(q, connector)
		return err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
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
	for some := range slices.Chunk(slices.Compact(ids), SendingBatch) {
		attempts, err := findAttempts(tx.Q, db.Args(some), tx.ForUpdate)
		if err != nil {
			return err
		}
		for _, id := range some {
			if a := attempts[id]; a != nil && a.open() {
				c.attempts[a.ID] = a
				a.acknowledge(unidentified)
				c.contradict(a, fmt.Sprintf("the folder of %s was replaced, and the new one does not list attempt %d", found.Connector, a.Number))
			}
		}
	}
	return nil
}
