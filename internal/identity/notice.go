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

// Notices notifies people by mail of changes to their credentials, in case someone else made them. A nil *Notices sends nothing.
type Notices struct {
	account string // address of the account page
	mail    *mail.Mailer
	budgets *budget.Budgets
}

// noticesTo limits how often a person is notified of the same kind of event. Each kind counts separately, so that no one can hide one event
// by repeating another.
var noticesTo = budget.Kind{Name: "notices mailed, by account and what happened", Burst: 5, Every: 20 * time.Minute}

// NewNotices returns the notices of a server, or nil without a mailer.
func NewNotices(publicURL string, m *mail.Mailer, b *budget.Budgets) *Notices {
	if !m.Configured() {
		return nil
	}
	return &Notices{account: publicURL + "/account", mail: m, budgets: b}
}

// Notify notifies a user of an action in a transaction. A reached limit or a full mail queue is not an error.
func (n *Notices) Notify(tx *db.Tx, by db.Caller, userID, email string, what mail.SecurityEvent, name string) error {
	if n == nil || email == "" {
		return nil
	}
	err := n.budgets.Take(tx, noticesTo.Of(userID+" "+string(what)))
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

// ProgramName returns the part of a User-Agent header that people recognize.
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
