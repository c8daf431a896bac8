package mail

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"bursar/internal/work"
)

// crashes is how many attempts may end with the death of the node, besides those that fail.
const crashes = 10

// errUnfit is logged for a message if nodes died at every attempt to send it.
var errUnfit = errors.New("a node has died at each attempt to send it")

// Run delivers queued messages until ctx ends. Every node runs it. Messages that are
// still queued are delivered by another node, or after the next start.
func (m *Mailer) Run(ctx context.Context) {
	if m == nil {
		return
	}
	// Otherwise a message that the mail server has half received at shutdown would be
	// sent twice.
	working, stop := work.Grace(ctx, m.grace)
	defer stop()
	var all sync.WaitGroup
	for _, lane := range lanes() {
		all.Go(func() {
			work.Loop{
				Step:     func(ctx context.Context) (bool, error) { return m.turn(ctx, working, lane) },
				Interval: m.interval, Log: m.log, Failure: "mail waits for the store and will continue", Once: true,
			}.Run(ctx)
		})
	}
	all.Wait()
}

// turn delivers the due messages of a lane, and reports whether there were any.
func (m *Mailer) turn(ctx, working context.Context, lane Lane) (delivered bool, err error) {
	// Transactions that queue mail encrypt it, and must not wait for a key.
	if err := m.vault.Ready(ctx, 0); err != nil {
		return false, err
	}
	b, err := m.claim(ctx, lane)
	if err != nil || len(b.letters) == 0 {
		return false, err
	}
	end := work.Renew(working, renewal, func(ctx context.Context) {
		// If it fails, another node may send the same message. Mailboxes detect the duplicate by
		// its Message-ID.
		_ = m.renew(ctx, b)
	})
	err = m.deliver(ctx, working, b)
	end()
	switch {
	case errors.Is(err, errTaken):
		m.log.Warn("another node has taken mail over, because this one did not continue")
		return true, nil
	case err != nil || ctx.Err() != nil:
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
		defer cancel()
		if left := m.release(after, b); !errors.Is(left, errTaken) { // nothing is left
			err = errors.Join(err, left)
		}
	}
	return true, err
}

// deliver sends a batch over one connection until ctx ends. A failed connection counts as an
// attempt for each letter, so that a server that is down is not tried once per letter.
func (m *Mailer) deliver(ctx, working context.Context, b batch) error {
	if err := m.open(working, &b); err != nil || len(b.letters) == 0 {
		return err
	}
	c, refused := m.connect(working)
	if refused == nil {
		defer c.close()
	}
	for _, l := range b.letters {
		if ctx.Err() != nil {
			return nil
		}
		err := refused
		if err == nil {
			err = m.send(c, l)
		}
		if err != nil && working.Err() != nil {
			return nil // this node ended the connection
		}
		if err := m.settle(working, l, err); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mailer) send(c *connection, l letter) error {
	if l.attempts > int64(len(m.backoff))+crashes {
		return errUnfit
	}
	content, err := m.compose(l)
	if err != nil {
		return err
	}
	return c.send(content, !isASCII(l.message.To) || !isASCII(m.from.Address))
}

// settle removes a letter after an attempt, or keeps it for the next one.
func (m *Mailer) settle(ctx context.Context, l letter, err error) error {
	// A message that the mail server has accepted must not be sent again because the
	// program ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer cancel()
	log := m.log.With("domain", domainOf(l.message.To), "attempts", l.attempts)
	if err == nil {
		log.Debug("mail was delivered")
		return m.remove(ctx, l)
	}
	f := explain(err)
	if !f.permanent && l.attempts <= int64(len(m.backoff)) {
		pause := jitter(m.backoff[l.attempts-1])
		log.Info("mail is delayed and will be tried again", "reason", f.reason, "pause", pause.String())
		return m.postpone(ctx, l, pause)
	}
	log.Error("mail was not delivered", "reason", f.reason)
	return m.remove(ctx, l)
}

// jitter varies a pause by up to a quarter, so that the nodes of an installation do not
// retry in step.
func jitter(pause time.Duration) time.Duration {
	return pause*3/4 + rand.N(pause/2+1)
}
