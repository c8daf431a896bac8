// Package mail sends invitations, account links and notices by SMTP. Messages wait in bounded
// queues in memory and a goroutine for each delivers them, so that a slow mail server
// delays no request. Messages are not stored: a link that does not arrive can be requested
// again.
//
// A link is as powerful as a password, so neither links nor addresses are logged, and the
// connection is encrypted unless it stays on the machine.
package mail

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	netmail "net/mail"
	"time"
)

//go:embed page.html
var pageSource string

// Mailer sends mail. A nil *Mailer is valid: mail is not configured.
type Mailer struct {
	server  server
	from    *netmail.Address
	config  Config
	log     *slog.Logger
	page    *template.Template
	queues  [lanes]*queue
	backoff []time.Duration
	grace   time.Duration
}

// usualBackoff gives five attempts over about seven minutes.
func usualBackoff() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 4 * time.Minute}
}

// New makes a mailer, or nil for an empty Config. It sends nothing until Run is called.
func New(config Config, log *slog.Logger) (*Mailer, error) {
	if config.Empty() {
		return nil, nil
	}
	server, err := parseServer(config.URL)
	if err != nil {
		return nil, err
	}
	from, err := parseFrom(config.From)
	if err != nil {
		return nil, err
	}
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse the page of a message: %w", err)
	}
	m := &Mailer{server: server, from: from, config: config, log: log, page: page, backoff: config.Backoff, grace: 5 * time.Second}
	for lane := range m.queues {
		m.queues[lane] = newQueue()
	}
	if m.backoff == nil {
		m.backoff = usualBackoff()
	}
	return m, nil
}

// Configured reports whether mail can be sent.
func (m *Mailer) Configured() bool { return m != nil }

// Lane is a kind of mail that has a queue and a connection of its own, so that one kind
// cannot keep another from being sent.
type Lane int

const (
	Accounts    Lane = iota // about the recipient's own account, such as recovery
	Invitations             // which others ask for, as many as they like
	Notices                 // which tell people what happened to their accounts
	lanes
)

// Send queues a message about the recipient's account and does not wait. It returns false
// if the message cannot be sent because it is malformed, the queue is full or Run has ended.
func (m *Mailer) Send(message Message) bool {
	place := m.Place(Accounts)
	defer place.Release()
	return m != nil && place.Send(message)
}

// Place is room in a queue for one message. Whoever stores something that only a message
// tells of, such as a link, holds a place before, so that it is not stored in vain.
type Place struct {
	mailer *Mailer
	queue  *queue
	held   bool
}

// Place returns a place that is not held yet. That of a nil *Mailer is nil.
func (m *Mailer) Place(lane Lane) *Place {
	if m == nil {
		return nil
	}
	return &Place{mailer: m, queue: m.queues[lane]}
}

// Hold takes the place, unless it is held already. It returns an error if the queue is
// full, Run has ended or mail is not configured.
func (p *Place) Hold() error {
	if p == nil {
		return errors.New("mail is not configured")
	}
	if p.held {
		return nil
	}
	err := p.queue.reserve()
	p.held = err == nil
	return err
}

// Release gives the place back, unless a message was sent with it.
func (p *Place) Release() {
	if p != nil && p.held {
		p.queue.unreserve()
		p.held = false
	}
}

// Send queues a message in the place and does not wait. It returns false if the message
// cannot be sent.
func (p *Place) Send(message Message) bool {
	log := p.mailer.log
	l, err := p.mailer.compose(message)
	if err != nil {
		log.Warn("mail was refused", "reason", err.Error())
		return false
	}
	if err = p.Hold(); err == nil {
		p.held = false
		err = p.queue.add(l)
	}
	if err != nil {
		log.Warn("mail was not queued", "domain", l.domain, "reason", err.Error())
	}
	return err == nil
}
