package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bursar/internal/db"
	"bursar/internal/payout"
	"bursar/internal/rail"
)

// receive processes what a connector reports unasked. A notice or a message that cannot be processed stays where it is and is retried. It
// does not keep others from being processed.
func (d *Dispatcher) receive(ctx context.Context, from rail.Connector) (worked bool, err error) {
	stopped, asking, err := d.sending.Stopped(ctx)
	if err == nil && stopped && !asking {
		asking, err = d.sending.Unread(ctx, from)
	}
	if err != nil || asking {
		return false, err // see recall
	}
	messages, err := from.Receive(ctx)
	for _, m := range messages {
		failed := d.takeMessage(ctx, from, m)
		if failed != nil {
			failed = fmt.Errorf("message %s of %s could not be taken completely; leave it where it is, it is retried every second; if this does not end, remove the cause: %w", m.ID, from.Name(), failed)
		}
		worked, err = worked || failed == nil, errors.Join(err, failed)
	}
	return worked, err
}

// Receive processes what a connector reports unasked now, and not only at its next turn.
func (d *Dispatcher) Receive(ctx context.Context, from rail.Connector) {
	if _, err := d.receive(ctx, from); err != nil {
		d.log.Error("a connector's notices wait and will be taken", "connector", from.Name(), "error", err.Error())
	}
}

func (d *Dispatcher) takeMessage(ctx context.Context, from rail.Connector, m rail.Message) error {
	var left []rail.Notice
	var failed error
	for some := range slices.Chunk(m.Notices, payout.SendingBatch) {
		more, err := d.takeSome(ctx, from, some)
		left, failed = append(left, more...), errors.Join(failed, err)
	}
	// A notice is done only if no notice about the same payment is left: a connector may report all of them at once.
	m.Notices = slices.DeleteFunc(slices.Clone(m.Notices), func(n rail.Notice) bool {
		return slices.ContainsFunc(left, func(l rail.Notice) bool { return l == n || n.EndToEndID != "" && l.EndToEndID == n.EndToEndID })
	})
	m.Left = len(left)
	return errors.Join(failed, from.Done(ctx, m))
}

// takeSome processes notices, all of them in one transaction or, if that fails, as many as possible. It returns the remaining ones.
func (d *Dispatcher) takeSome(ctx context.Context, from rail.Connector, list []rail.Notice) (left []rail.Notice, err error) {
	err = d.sending.Take(ctx, from, list)
	if db.IsUnique(err) { // another node has processed one of them meanwhile
		err = d.sending.Take(ctx, from, list)
	}
	switch {
	case err == nil:
		return nil, nil
	case len(list) == 1:
		d.Untaken.Add(1)
		return list, err
	case d.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT 1`).Scan(new(int64))
		return err
	}) != nil: // the store fails, and not one of the notices
		return list, err
	}
	half := len(list) / 2
	first, err := d.takeSome(ctx, from, list[:half])
	second, failed := d.takeSome(ctx, from, list[half:])
	return slices.Concat(first, second), errors.Join(err, failed)
}
