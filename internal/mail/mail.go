// Package mail sends invitations, account links and notices by SMTP. A message is stored in the
// outbox by the transaction that it is about, and every node delivers messages from the outbox.
// So a slow mail server delays no request, and mail outlives the node that should have sent it:
// another node takes it over a few seconds later. Delivery is at least once, as by every mail
// server, with the same Message-ID each time.
//
// A link is as sensitive as a password. So the outbox is sealed, neither links nor addresses
// are logged, and the connection is encrypted unless it stays on the machine.
package mail

import (
	_ "embed"
	"fmt"
	"html/template"
	"log/slog"
	netmail "net/mail"
	"time"

	"bursar/internal/db"
	"bursar/internal/vault"
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
	db      *db.DB
	vault   *vault.Vault
	backoff []time.Duration
	// interval is how often a node checks for mail.
	interval time.Duration
	grace    time.Duration
}

// usualBackoff returns the pauses for five attempts in about seven minutes.
func usualBackoff() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 4 * time.Minute}
}

// New returns a mailer, or nil for an empty Config. It sends nothing until Run is called.
func New(config Config, d *db.DB, v *vault.Vault, log *slog.Logger) (*Mailer, error) {
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
	m := &Mailer{server: server, from: from, config: config, log: log, page: page, db: d, vault: v,
		backoff: config.Backoff, interval: 500 * time.Millisecond, grace: 5 * time.Second}
	if m.backoff == nil {
		m.backoff = usualBackoff()
	}
	return m, nil
}

// Configured reports whether mail can be sent.
func (m *Mailer) Configured() bool { return m != nil }
