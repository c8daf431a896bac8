package continuous

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bursar/internal/auditlog"
	"bursar/internal/auditproof"
	"bursar/internal/db"
	"bursar/internal/db/sqlite"
	"bursar/internal/ledger"
)

// verifiedName is the object with the newest result of a verification, which servers show in their metrics.
const verifiedName = "verified.json"

// Verified is what a verification of a backup has found.
type Verified struct {
	At     time.Time `json:"at"`     // when
	Moment time.Time `json:"moment"` // of the last commit that was restored
	Error  string    `json:"error,omitempty"`
	// Damaged are the names of the objects that are to blame, which a server makes up for with a new base.
	Damaged []string `json:"damaged,omitempty"`
}

// Report is what a verification has looked at.
type Report struct {
	Moment       time.Time `json:"moment"`
	Segments     int       `json:"segments"`
	Bytes        int64     `json:"bytes"`
	AuditRows    int64     `json:"audit_rows"`
	Transactions int64     `json:"transactions"`
	Objects      int       `json:"objects"` // that were read, whether or not a restore needs them
	Seconds      float64   `json:"seconds"`
	Damaged      []string  `json:"damaged,omitempty"` // names of objects; others may have made up for them
}

// Verify reads every object of a backup, restores the newest state into an empty folder, and verifies its ledger and
// audit log. It fails if the newest state cannot be restored, or only with or around a damaged object; Report.Damaged has
// also the damaged objects that only older states need. It leaves the result in the target, where servers find it, unless the fault is with the machine or the
// keys of the caller, which say nothing about the backup.
func Verify(ctx context.Context, from Source, key *auditproof.Key, scratch string, progress func(bytes int64)) (Report, error) {
	began := time.Now()
	report, err := verify(ctx, from, key, scratch, progress)
	report.Seconds = time.Since(began).Seconds()
	if ctx.Err() != nil || err != nil && !isFinding(err) {
		return report, err
	}
	v := Verified{At: time.Now().UTC(), Moment: report.Moment, Damaged: report.Damaged}
	if err != nil {
		v.Error = err.Error()
	}
	text, jsonErr := json.Marshal(v)
	if jsonErr == nil {
		jsonErr = from.Target.Put(ctx, verifiedName, bytes.NewReader(text), int64(len(text)))
	}
	if jsonErr != nil {
		err = errors.Join(err, fmt.Errorf("store the result in %s: %w", from.Target, jsonErr))
	}
	return report, err
}

// finding is something wrong with what was restored.
type finding struct{ error }

// isFinding reports whether an error says that the backup is bad.
func isFinding(err error) bool {
	var found finding
	var gap *GapError
	var damaged *DamagedError
	return errors.As(err, &found) || errors.As(err, &gap) || errors.As(err, &damaged) || errors.Is(err, errNoBase)
}

func verify(ctx context.Context, from Source, key *auditproof.Key, scratch string, progress func(bytes int64)) (report Report, err error) {
	var read int64
	needed, err := checkObjects(ctx, from, &report, func(bytes int64) {
		if read = bytes; progress != nil {
			progress(bytes)
		}
	})
	if err != nil {
		return report, err
	}
	done, err := unpack(ctx, from, scratch, Moment{}, func(bytes int64) {
		if progress != nil {
			progress(read + bytes)
		}
	})
	if err != nil {
		return report, err
	}
	report.Moment, report.Segments, report.Bytes = done.Moment.UTC(), done.Segments, done.Bytes
	if err := sqlite.Check(ctx, filepath.Join(scratch, sqlite.FileName)); sqlite.IsDiskFault(err) {
		return report, err
	} else if err != nil {
		return report, finding{err}
	}
	d, err := db.Open(ctx, db.Config{Dir: scratch, Alone: true})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	money, err := ledger.Verify(ctx, d, false, func(_, _ int64) {})
	if err != nil {
		return report, fmt.Errorf("verify the ledger: %w", err)
	}
	report.Transactions = money.Transactions
	if len(money.Mismatches) > 0 {
		return report, finding{fmt.Errorf("the ledger does not verify: %s", money.Mismatches[0])}
	}
	log, err := auditlog.VerifyStore(ctx, d, key, nil)
	if err != nil {
		return report, fmt.Errorf("verify the audit log: %w", err)
	}
	report.AuditRows = log.Rows
	if len(log.Failures) > 0 {
		return report, finding{fmt.Errorf("the audit log does not verify: %s", log.Failures[0])}
	}
	if needed != nil { // the next damage may be in what made up for it
		return report, finding{fmt.Errorf("%w; the newest state can still be restored", needed)}
	}
	return report, nil
}

// checkers is how many objects are read at once: an object store takes its time to answer each.
const checkers = 8

// checkObjects reads every object whole and puts the names of the damaged ones into the report. It returns what is wrong with
// the first one that is on the way to the newest state, or nil.
func checkObjects(ctx context.Context, from Source, report *Report, progress func(bytes int64)) (needed *DamagedError, err error) {
	all, err := list(ctx, from.Target)
	if err != nil {
		return nil, err
	}
	r := from.reader()
	r.sums = true
	var mu sync.Mutex
	var bytes int64
	found := map[segment]*DamagedError{}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(checkers)
	for _, s := range all {
		group.Go(func() error {
			err := r.check(groupCtx, s)
			var damaged *DamagedError
			switch isDamaged := errors.As(err, &damaged); {
			case errors.Is(err, fs.ErrNotExist):
				return nil // deleted since it was listed; unpack misses it if it is needed
			case err != nil && !isDamaged:
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if damaged != nil {
				found[s] = damaged
			}
			report.Objects++
			bytes += s.object.Size
			progress(bytes)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, s := range all {
		if found[s] != nil {
			report.Damaged = append(report.Damaged, s.name())
		}
	}
	readable := inForm(all, len(from.Identities) > 0)
	way, _ := plan(readable, newestOf(readable).max) // unpack reports a gap
	for _, s := range way {
		if found[s] != nil {
			return found[s], nil
		}
	}
	return nil, nil
}

// Overview is what a target has.
type Overview struct {
	Target   string    `json:"target"`
	Bases    int       `json:"bases"`
	Base     time.Time `json:"newest_base"`
	Segments int       `json:"segments"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"oldest_base"`       // nothing from before can be restored
	Last     time.Time `json:"newest_segment"`    // when the newest segment was stored
	Safe     time.Time `json:"complete_until"`    // what a server has said last
	Missing  string    `json:"missing,omitempty"` // why the newest state cannot be restored
	Verified *Verified `json:"verified,omitempty"`
}

// Look lists what a target has, without reading any of it.
func Look(ctx context.Context, t Target) (o Overview, err error) {
	o.Target = t.String()
	all, err := list(ctx, t)
	if err != nil {
		return o, err
	}
	var newest segment
	for _, s := range all {
		o.Bytes += s.object.Size
		if s.max > newest.max {
			newest = s
		}
		if s.object.Time.After(o.Last) {
			o.Last = s.object.Time.UTC()
		}
		if s.level != bases {
			o.Segments++
			continue
		}
		o.Bases++
		o.Base = s.object.Time.UTC()
		if o.First.IsZero() {
			o.First = o.Base
		}
	}
	if len(all) > 0 {
		if _, err := plan(inForm(all, newest.sealed), newest.max); err != nil {
			o.Missing = err.Error()
		}
	}
	var by owner
	if err := getJSON(ctx, t, ownerName, &by); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, fmt.Errorf("read %s in %s: %w", ownerName, t, err)
	}
	o.Safe = by.Safe
	var v Verified
	switch err := getJSON(ctx, t, verifiedName, &v); {
	case err == nil:
		o.Verified = &v
	case !errors.Is(err, fs.ErrNotExist):
		return o, fmt.Errorf("read %s in %s: %w", verifiedName, t, err)
	}
	return o, nil
}
