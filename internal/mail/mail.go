// Package mail sends invitations and account links by SMTP. Messages wait in a bounded
// queue in memory and one goroutine delivers them, so that a slow mail server delays no
// request. Messages are not stored: a link that does not arrive can be requested again.
//
// A link is as powerful as a password, so neither links nor addresses are logged, and the
// connection is encrypted unless it stays on the machine.
package mail

import (
	_ "embed"
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
	queue   *queue
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
	m := &Mailer{server: server, from: from, config: config, log: log, page: page, queue: newQueue(), backoff: config.Backoff, grace: 5 * time.Second}
	if m.backoff == nil {
		m.backoff = usualBackoff()
	}
	return m, nil
}

// Configured reports whether mail can be sent.
func (m *Mailer) Configured() bool { return m != nil }

// Send queues a message and does not wait. It returns false if the message cannot be
// sent because it is malformed, the queue is full or Run has ended.
func (m *Mailer) Send(message Message) bool {
	if m == nil {
		return false
	}
	l, err := m.compose(message)
	if err != nil {
		m.log.Warn("mail was refused", "reason", err.Error())
		return false
	}
	if err := m.queue.add(l); err != nil {
		m.log.Warn("mail was not queued", "domain", l.domain, "reason", err.Error())
		return false
	}
	return true
}
