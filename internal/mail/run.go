package mail

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"bursar/internal/graceful"
)

// Run delivers queued messages until ctx ends. Then it tries what is still queued once
// more, for a few seconds.
func (m *Mailer) Run(ctx context.Context) {
	if m == nil {
		return
	}
	// A message that the mail server has half received when the program is told to stop
	// would otherwise be sent twice.
	working, stop := graceful.Context(ctx, m.grace)
	defer stop()
	var all sync.WaitGroup
	for _, q := range m.queues {
		all.Go(func() { m.empty(ctx, working, q) })
	}
	all.Wait()
}

func (m *Mailer) empty(ctx, working context.Context, q *queue) {
	for ctx.Err() == nil {
		ready, next := q.due(time.Now())
		if len(ready) == 0 {
			q.wait(ctx, next)
			continue
		}
		m.deliver(working, ready)
	}
	m.deliver(working, q.close())
}

// deliver sends letters over one connection. A failed connection counts as an attempt
// for each of them, so that a server that is down is not asked once per letter.
func (m *Mailer) deliver(ctx context.Context, letters []*letter) {
	if len(letters) == 0 {
		return
	}
	c, err := m.connect(ctx)
	if err != nil {
		for _, l := range letters {
			m.settle(l, err)
		}
		return
	}
	defer c.close()
	for _, l := range letters {
		m.settle(l, c.send(l))
	}
}

// settle drops a letter after an attempt, or keeps it for the next one.
func (m *Mailer) settle(l *letter, err error) {
	l.attempts++
	log := m.log.With("domain", l.domain, "attempts", l.attempts)
	if err == nil {
		l.queue.remove(l)
		log.Debug("mail was delivered")
		return
	}
	f := explain(err)
	if !f.permanent && l.attempts <= len(m.backoff) {
		pause := jitter(m.backoff[l.attempts-1])
		if l.queue.postpone(l, time.Now().Add(pause)) {
			log.Info("mail is delayed and will be tried again", "reason", f.reason, "pause", pause.String())
			return
		}
	}
	l.queue.remove(l)
	log.Error("mail was not delivered", "reason", f.reason)
}

// jitter varies a pause by up to a quarter, so that the nodes of an installation do not
// retry in step.
func jitter(pause time.Duration) time.Duration {
	return pause*3/4 + rand.N(pause/2+1)
}
