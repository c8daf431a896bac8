package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bursar/internal/payout"
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
// It ends when the folder is right again, or when an operator adopts the folder (payout.AdoptRecord).
//
// A folder that was restored from a backup lacks its newest notes. So the folder must list what the bank has accepted since the payout of
// the oldest open attempt was made. That includes ended attempts, and is limited to the newest comparedAccepted. Older notes may be
// deleted. Each attempt is stored before it is sent, so the store must know every payment that the folder lists. A node compares only what
// was listed since the last time.

// recordReadEvery is how often a node checks a record for lost notes. heldReadEvery is how often it does if the record is not trusted.
const recordReadEvery, heldReadEvery = 5 * time.Minute, 10 * time.Second

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

// identityOf returns what reads the trusted identity of the record of a rail's connector, nil if it keeps none.
func (d *Dispatcher) identityOf(of *rail.Rail) func() string {
	if r := d.recordOf(of); r != nil {
		return r.identity
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
func (d *Dispatcher) confirm(ctx context.Context, of *rail.Rail, answers []payout.Answer) []payout.Answer {
	missing := func(a payout.Answer) bool { return a.Outcome.State == rail.NotReceived }
	r := d.recordOf(of)
	if r == nil || !slices.ContainsFunc(answers, missing) {
		return answers
	}
	if reason := d.check(ctx, r, true); reason != "" {
		for i, a := range answers {
			if missing(a) {
				answers[i].Outcome = rail.Outcome{State: rail.Unknown, Text: reason}
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
	known, before, err := d.sending.KnownRecord(ctx, name, identity)
	if err != nil {
		return "", err
	}
	same := known != "" && known == identity && identity == r.identity()
	if d.now() < r.readAt && (same || r.reason != "" && before.Reason == r.reason) {
		return r.reason, nil
	}
	found := payout.RecordConflict{Connector: name, Identity: identity, At: d.now()}
	for _, one := range d.rails.All() {
		if one.Connector == r.connector {
			found.Rails = append(found.Rails, one.Name)
		}
	}
	switch {
	case known == "":
		if found.Unknown, _, err = d.sending.UnknownIn(ctx, r, 0); err != nil {
			return "", err
		}
		if len(found.Unknown) > 0 || identity != "" {
			found.Reason = "the store does not know the folder"
		}
	case known != identity:
		found.Reason = "the folder is not the one that the store knows"
	}
	if err := d.sending.FindMissing(ctx, r, r.connector.Sandbox(), &found, before); err != nil {
		return "", err
	}
	switch {
	case found.Reason == "" && len(found.Missing) > 0:
		found.Reason = fmt.Sprintf("the folder does not list payments that the bank has accepted: %d", len(found.Missing))
	case found.Reason == "" && identity == "": // the first start
		if err := r.Identify(ctx, func(identity string) error { return d.sending.RememberRecord(ctx, name, identity) }); err != nil {
			return "", err
		}
		return d.compare(ctx, r) // another node may have been faster and have another folder
	case found.Reason == "":
		if found.Unknown, err = d.sending.UnknownSince(ctx, r, name, found.At); err != nil {
			return "", err
		}
		if len(found.Unknown) > 0 {
			found.Reason = "the folder lists payments that the store does not know"
		}
	}
	r.readAt = d.now() + recordReadEvery.Milliseconds()
	if found.Reason == "" {
		if err := d.sending.ClearConflicts(ctx, name); err != nil {
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
		err = d.sending.StoreConflict(ctx, before, found)
	}
	return found.Reason, err
}
