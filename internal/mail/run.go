package mail

import (
	"context"
	"math/rand/v2"
	"time"
)

// Run delivers what is sent until ctx ends. Then it tries once more, for a few
// seconds, whatever is still queued.
func (m *Mailer) Run(ctx context.Context) {
	if m == nil {
		return
	}
	working, stop := outlive(ctx, m.grace)
	defer stop()
	for ctx.Err() == nil {
		ready, next := m.queue.due(time.Now())
		if len(ready) == 0 {
			m.queue.wait(ctx, next)
			continue
		}
		m.deliver(working, ready)
	}
	m.deliver(working, m.queue.close())
}

// outlive makes a context that ends a while after ctx: a message that the server
// has half received when the program is told to stop would otherwise go out twice.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		forget()
		cancel()
	}
}

// deliver offers letters to the server over one connection. Where there is no
// connection, that was an attempt for each of them: a server that does not answer
// is not asked 256 times.
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

// settle decides what becomes of a letter after an attempt.
func (m *Mailer) settle(l *letter, err error) {
	l.attempts++
	log := m.log.With("domain", l.domain, "attempts", l.attempts)
	if err == nil {
		m.queue.remove(l)
		log.Debug("mail was delivered")
		return
	}
	f := explain(err)
	if !f.permanent && l.attempts <= len(m.backoff) {
		pause := jitter(m.backoff[l.attempts-1])
		if m.queue.postpone(l, time.Now().Add(pause)) {
			log.Info("mail is delayed and will be tried again", "reason", f.reason, "pause", pause.String())
			return
		}
	}
	m.queue.remove(l)
	log.Error("mail was not delivered", "reason", f.reason)
}

// jitter is a pause within a quarter of the given one, so that the nodes of an
// installation do not return to a server in step.
func jitter(pause time.Duration) time.Duration {
	return pause*3/4 + rand.N(pause/2+1)
}
