package continuous

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/db/sqlite"
	"bursar/internal/ledger"
)

// verifiedName is the name of the object with the newest result of a verification, which servers show in
// their metrics.
const verifiedName = "verified.json"

// Verified is the result of a verification of a backup.
type Verified struct {
	At     time.Time `json:"at"`     // when
	Moment time.Time `json:"moment"` // of the last commit that was restored
	Error  string    `json:"error,omitempty"`
	// Damaged contains the names of damaged objects that the newest state needs. A server replaces them with a new
	// base.
	Damaged []string `json:"damaged,omitempty"`
}

// maxNamed bounds the names in verified.json, which a server reads every minute.
const maxNamed = 100

// Report is the full result of a verification.
type Report struct {
	Moment       time.Time `json:"moment"`
	Segments     int       `json:"segments"`
	Bytes        int64     `json:"bytes"`
	AuditRows    int64     `json:"audit_rows"`
	Transactions int64     `json:"transactions"`
	Objects      int       `json:"objects"` // objects that were read, whether or not a restore needs them
	Seconds      float64   `json:"seconds"`
	Damaged      []string  `json:"damaged,omitempty"`    // names of all damaged objects
	Unreadable   []string  `json:"unreadable,omitempty"` // names of objects that the target does not return or that no key decrypts

	needed []string // damaged objects that the newest state needs
}

// Verify restores the newest state of a backup into an empty folder, verifies its ledger and audit log, and reads every
// object of the backup. It fails if the newest state cannot be restored, or needs an object that is damaged. Damaged objects
// that only older states need are in the report. The result is stored in the target, where servers find it. It is not stored
// if the fault is with the caller's machine or keys, which does not concern the backup.
func Verify(ctx context.Context, from Source, key *tree.Key, scratch string, progress func(bytes int64)) (Report, error) {
	began := time.Now()
	report, err := verify(ctx, from, key, scratch, progress)
	report.Seconds = time.Since(began).Seconds()
	if ctx.Err() != nil || err != nil && !isFinding(err) {
		return report, err
	}
	v := Verified{At: time.Now().UTC(), Moment: report.Moment, Damaged: report.needed[:min(maxNamed, len(report.needed))]}
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

// finding is an error about the restored store.
type finding struct{ error }

// isFinding reports whether an error means that the backup is bad.
func isFinding(err error) bool {
	var found finding
	var gap *GapError
	var damaged *DamagedError
	return errors.As(err, &found) || errors.As(err, &gap) || errors.As(err, &damaged) || errors.Is(err, errNoBase)
}

func verify(ctx context.Context, from Source, key *tree.Key, scratch string, progress func(bytes int64)) (report Report, err error) {
	if progress == nil {
		progress = func(int64) {}
	}
	var restored int64
	done, unpackErr := unpack(ctx, from, scratch, Moment{}, func(bytes int64) {
		restored = bytes
		progress(bytes)
	})
	report.Damaged, report.needed = done.Damaged, done.Damaged
	if unpackErr != nil && !isFinding(unpackErr) {
		return report, unpackErr
	}
	needed, err := checkObjects(ctx, from, &report, func(bytes int64) { progress(restored + bytes) })
	if err := errors.Join(unpackErr, err); err != nil {
		return report, err
	}
	report.Moment, report.Segments, report.Bytes = done.Moment.UTC(), done.Segments, done.Bytes
	if err := sqlite.Check(ctx, filepath.Join(scratch, sqlite.FileName)); sqlite.IsDiskFault(err) {
		return report, err
	} else if err != nil {
		return report, finding{err}
	}
	d, err := db.Open(ctx, db.Config{Dir: scratch, Exclusive: true})
	if err != nil {
		return report, ofBackup(err)
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
	if needed != nil { // the next damage may be in the replacement
		return report, finding{fmt.Errorf("%w; the newest state can still be restored", needed)}
	}
	return report, nil
}

// checkers is how many objects are read at once, because an object store is slow to answer each
// request.
const checkers = 8

// checkObjects reads every object of a backup and adds its findings to the report. It returns the error of the first
// damaged object that the newest state needs, or nil.
func checkObjects(ctx context.Context, from Source, report *Report, progress func(bytes int64)) (needed *DamagedError, err error) {
	all, err := list(ctx, from.Target)
	if err != nil {
		return nil, err
	}
	r := from.reader()
	r.sums = true
	var mu sync.Mutex
	var bytes int64
	found := map[string]*DamagedError{}
	unreadable := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(checkers)
	for _, s := range all {
		group.Go(func() error {
			err := r.check(ctx, s)
			var damaged *DamagedError
			if errors.As(err, &damaged) {
				err = r.check(ctx, s) // it may have been replaced between reading it and reading its checksum
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
			case errors.As(err, &damaged):
				found[s.name()] = damaged
			case errors.Is(err, fs.ErrNotExist):
				return nil // deleted after it was listed; a restore reports it missing if it is needed
			default:
				unreadable[s.name()] = true
			}
			report.Objects++
			bytes += s.object.Size
			progress(bytes)
			return nil
		})
	}
	_ = group.Wait() // errors of objects are in found and unreadable
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, s := range all {
		if name := s.name(); found[name] != nil && !slices.Contains(report.Damaged, name) {
			report.Damaged = append(report.Damaged, name)
		} else if unreadable[name] {
			report.Unreadable = append(report.Unreadable, name)
		}
	}
	readable := inForm(all, len(from.Identities) > 0)
	way, _ := plan(readable, newestOf(readable).max) // a restore reports a gap
	for _, s := range way {
		damaged := found[s.name()]
		if damaged == nil {
			continue
		}
		if needed == nil {
			needed = damaged
		}
		if !slices.Contains(report.needed, s.name()) {
			report.needed = append(report.needed, s.name())
		}
	}
	return needed, nil
}

// Overview is a summary of a target.
type Overview struct {
	Target   string    `json:"target"`
	Bases    int       `json:"bases"`
	Base     time.Time `json:"newest_base"`
	Segments int       `json:"segments"`
	Bytes    int64     `json:"bytes"`
	First    time.Time `json:"oldest_base"`       // no earlier state can be restored
	Last     time.Time `json:"newest_segment"`    // when the newest segment was stored
	Safe     time.Time `json:"complete_until"`    // as a server has last reported
	Missing  string    `json:"missing,omitempty"` // why the newest state cannot be restored
	Verified *Verified `json:"verified,omitempty"`
}

// Look lists the contents of a target without reading any object.
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
