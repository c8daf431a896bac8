package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// Notices tells people by mail what happened to their accounts, so that they learn of it
// if it was somebody else. A nil *Notices tells nobody.
type Notices struct {
	db      *db.DB
	account string // where people look after their accounts
	mail    *mail.Mailer
	budgets *budget.Budgets
	queue   chan notice
}

// maxNotices bounds how many notices wait in the queue.
const maxNotices = 256

// noticesTo bounds how often somebody is told of the same kind of thing. Each kind counts
// apart, so that nobody can hide one thing by doing another many times.
var noticesTo = budget.Kind{Name: "notices mailed, by account and what happened", Burst: 5, Every: 20 * time.Minute}

type notice struct {
	accountID string
	mail.Notice
}

// NewNotices makes the notices of a server, nil without a mailer.
func NewNotices(d *db.DB, publicURL string, m *mail.Mailer, b *budget.Budgets) *Notices {
	if !m.Configured() {
		return nil
	}
	return &Notices{db: d, account: publicURL + "/account", mail: m, budgets: b, queue: make(chan notice, maxNotices)}
}

// Tell tells the owner of an account what the caller did. It neither waits nor fails: what
// happened has happened.
func (n *Notices) Tell(by db.Caller, accountID, email string, what mail.Happening, name string) {
	if n == nil || email == "" {
		return
	}
	select {
	case n.queue <- notice{accountID, mail.Notice{To: email, What: what, Name: name, At: time.UnixMilli(n.db.Now()),
		IP: by.IP, Browser: ProgramName(by.Agent), Account: n.account}}:
	default: // as with mail that a full queue does not take
	}
}

// Run mails notices until ctx ends.
func (n *Notices) Run(ctx context.Context, log *slog.Logger) {
	if n == nil {
		return
	}
	for {
		select {
		case next := <-n.queue:
			if err := n.send(ctx, next); err != nil && ctx.Err() == nil {
				log.Warn("a notice was not mailed", "error", err.Error())
			}
		case <-ctx.Done():
			return
		}
	}
}

func (n *Notices) send(ctx context.Context, next notice) error {
	err := n.budgets.Spend(ctx, noticesTo.Of(next.accountID+" "+string(next.What)))
	var limited *fault.Fault
	if errors.As(err, &limited) {
		return nil // they have been told often enough
	}
	if err != nil {
		return err
	}
	place := n.mail.Place(mail.Notices)
	defer place.Release()
	place.Send(next.Message())
	return nil
}

// ProgramName is the part of a User-Agent header that people recognize.
func ProgramName(agent string) string {
	system := ""
	for _, known := range [][2]string{{"Windows", "Windows"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known[0]) {
			system = " on " + known[1]
			break
		}
	}
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(agent, known[0]) {
			return known[1] + system
		}
	}
	name, _, _ := strings.Cut(agent, " ")
	return name
}
