package identity

import (
	"errors"
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
	account string // where people look after their accounts
	mail    *mail.Mailer
	budgets *budget.Budgets
}

// noticesTo bounds how often somebody is told of the same kind of thing. Each kind counts
// apart, so that nobody can hide one thing by doing another many times.
var noticesTo = budget.Kind{Name: "notices mailed, by account and what happened", Burst: 5, Every: 20 * time.Minute}

// NewNotices makes the notices of a server, nil without a mailer.
func NewNotices(publicURL string, m *mail.Mailer, b *budget.Budgets) *Notices {
	if !m.Configured() {
		return nil
	}
	return &Notices{account: publicURL + "/account", mail: m, budgets: b}
}

// Tell tells the owner of an account what the caller does in a transaction. Nothing fails
// because they were told often enough, or because too much mail waits.
func (n *Notices) Tell(tx *db.Tx, by db.Caller, accountID, email string, what mail.Happening, name string) error {
	if n == nil || email == "" {
		return nil
	}
	err := n.budgets.Take(tx, noticesTo.Of(accountID+" "+string(what)))
	if err == nil {
		err = n.mail.Queue(tx, mail.Notices, mail.Notice{To: email, What: what, Name: name, At: time.UnixMilli(tx.Now()),
			IP: by.IP, Browser: ProgramName(by.Agent), Account: n.account}.Message())
	}
	var limited *fault.Fault
	if errors.As(err, &limited) || errors.Is(err, mail.ErrFull) {
		return nil
	}
	return err
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
