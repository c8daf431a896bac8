package mail_test

import (
	"strings"
	"testing"
	"time"

	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
)

func TestATemporaryRefusalIsTriedAgainAndArrivesOnce(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	server.Refuse(451, 3)
	o := open(t, mail.Config{URL: server.URL, Backoff: quick(4)})
	o.send(t, link())
	server.Wait(t, 1)
	o.stop()
	if got := server.Received(); len(got) != 1 || server.Counts().Messages != 4 {
		t.Errorf("received %d of %d messages", len(got), server.Counts().Messages)
	}
	if text := o.log.String(); strings.Count(text, "will be tried again") != 3 || strings.Contains(text, "was not delivered") {
		t.Errorf("log:\n%s", text)
	}
	o.keepsSecrets(t)
}

func TestAServerThatHangsUpGetsEachMessageOnce(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{HangsUp: true})
	o := closed(t, mail.Config{URL: server.URL, Backoff: quick(4)})
	o.send(t, link())
	o.send(t, link())
	o.open(t)
	server.Wait(t, 2)
	o.stop()
	if got := server.Received(); len(got) != 2 || got[0].Header.Get("Message-Id") == got[1].Header.Get("Message-Id") {
		t.Errorf("received %+v", got)
	}
}

func TestAPermanentRefusalIsNotTriedAgain(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	server.Refuse(550, 1)
	o := open(t, mail.Config{URL: server.URL, Backoff: quick(4)})
	o.send(t, link())
	o.ended(t)
	if got := server.Counts().Messages; got != 1 || len(server.Received()) != 0 {
		t.Errorf("the message was offered %d times", got)
	}
	for _, part := range []string{"mail was not delivered", `"domain":"receiver.example"`, "550 5.0.0"} {
		if !strings.Contains(o.log.String(), part) {
			t.Errorf("%q is not in the log:\n%s", part, o.log)
		}
	}
	o.keepsSecrets(t)
}

func TestTryingEndsAtLast(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	server.Refuse(451, 100)
	o := open(t, mail.Config{URL: server.URL, Backoff: quick(2)})
	o.send(t, link())
	o.ended(t)
	if got := server.Counts().Messages; got != 3 || !strings.Contains(o.log.String(), "mail was not delivered") {
		t.Errorf("after %d attempts:\n%s", got, o.log)
	}
	o.keepsSecrets(t)
}

func TestOneRefusedMessageDoesNotHoldUpOthers(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	server.Refuse(451, 1)
	o := closed(t, mail.Config{URL: server.URL, Backoff: []time.Duration{time.Hour}})
	o.send(t, link())
	other := link()
	other.Subject = "Another"
	o.send(t, other)
	o.open(t)
	if got := server.Wait(t, 1); got[0].Subject != "Another" {
		t.Errorf("first came %q", got[0].Subject)
	}
}

func TestMailWaitsForAServerThatIsDown(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	server.Down()
	o := open(t, mail.Config{URL: server.URL, Backoff: quick(100_000)})
	o.send(t, link())
	server.WaitFor(t, func(seen smtptest.Counts) bool { return seen.Dropped >= 2 })
	server.Up()
	server.Wait(t, 1)
	o.stop()
	if got := len(server.Received()); got != 1 {
		t.Errorf("received %d messages", got)
	}
	o.keepsSecrets(t)
}
