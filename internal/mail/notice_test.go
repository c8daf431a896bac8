package mail_test

import (
	"strings"
	"testing"
	"time"

	"bursar/internal/mail"
)

func notice() mail.Notice {
	return mail.Notice{To: recipient, What: mail.PasskeyAdded, Name: "Phone", At: time.Date(2026, 10, 8, 16, 5, 0, 0, time.FixedZone("CEST", 2*60*60)),
		IP: "203.0.113.7", Browser: "Firefox on Linux", Account: "https://pay.example.com/account"}
}

func TestNoticeDescribesTheEventItsTimeItsOriginAndWhatToDo(t *testing.T) {
	got := arrive(t, notice().Message())
	if got.Subject != "A passkey was added to your Bursar account" {
		t.Errorf("subject: %q", got.Subject)
	}
	for _, part := range []string{
		"A passkey was added to your Bursar account. It is called “Phone”.",
		"When: 8 October 2026 at 14:05 UTC",
		"From: 203.0.113.7, with Firefox on Linux",
		"If it was not you, someone else has access to your account.",
		"https://pay.example.com/account",
	} {
		if !strings.Contains(got.Text, part) || !strings.Contains(got.HTML, part) {
			t.Errorf("%q is not in both of\n%s\n%s", part, got.Text, got.HTML)
		}
	}
}

// An attacker can choose the names, to change the meaning of the mail.
func TestNoticeShowsUserChosenNamesAsPlainText(t *testing.T) {
	n := notice()
	n.Name, n.Browser = "x\n\nCall https://evil.example.com", "evil.example.com\n\n<b>"
	got := arrive(t, n.Message())
	if strings.Contains(got.Text, "evil.example.com") || strings.Contains(got.HTML, "<b>") || strings.Contains(got.Text, "\n\nCall") {
		t.Errorf("the message is\n%s\n%s", got.Text, got.HTML)
	}
	n.Name, n.Browser = "", ""
	if text := arrive(t, n.Message()).Text; strings.Contains(text, "“”") || !strings.Contains(text, "From: 203.0.113.7\n") {
		t.Errorf("the message is\n%s", text)
	}
}
