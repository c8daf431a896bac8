package mail_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
)

const (
	recipient = "carla.nunes@receiver.example"
	secret    = "https://pay.example.com/join#tok_7Q2XN5PWEBGM3K"
)

// office is a mailer at work, with what it logs.
type office struct {
	*mail.Mailer
	stop func() // ends Run and waits until it has ended
	log  *logBook
}

type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// quick are pauses for tests in which the number of attempts matters.
func quick(pauses int) []time.Duration {
	list := make([]time.Duration, pauses)
	for i := range list {
		list[i] = time.Millisecond
	}
	return list
}

func closed(t *testing.T, config mail.Config) *office {
	t.Helper()
	book := &logBook{}
	if config.From == "" {
		config.From = "Bursar <bursar@sender.example>"
	}
	m, err := mail.New(config, slog.New(slog.NewJSONHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatalf("make a mailer: %v", err)
	}
	m.SetGrace(time.Minute) // a busy machine loses no mail
	return &office{Mailer: m, log: book, stop: func() {}}
}

func (o *office) open(t *testing.T) *office {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { o.Run(ctx) })
	o.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(o.stop)
	return o
}

func open(t *testing.T, config mail.Config) *office {
	t.Helper()
	return closed(t, config).open(t)
}

func (o *office) send(t *testing.T, m mail.Message) {
	t.Helper()
	if !o.Send(m) {
		t.Fatalf("the message was not queued: %s", o.log)
	}
}

func (o *office) keepsSecrets(t *testing.T) {
	t.Helper()
	for _, part := range []string{"carla", secret, "tok_7Q2XN5PWEBGM3K", "sesame"} {
		if strings.Contains(o.log.String(), part) {
			t.Errorf("the log tells %q:\n%s", part, o.log)
		}
	}
}

func link() mail.Message {
	return mail.AccountLink{To: recipient, Link: secret, ExpiresAt: time.Date(2026, 10, 8, 14, 5, 0, 0, time.UTC)}.Message()
}

func TestNoMailerIsNotConfigured(t *testing.T) {
	m, err := mail.New(mail.Config{}, slog.New(slog.DiscardHandler))
	if m != nil || err != nil {
		t.Fatalf("an empty Config makes %v, %v", m, err)
	}
	if m.Configured() || m.Send(link()) {
		t.Error("a nil mailer takes mail")
	}
	m.Run(t.Context()) // returns
}

func TestAFullQueueRefuses(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := closed(t, mail.Config{URL: server.URL})
	for range mail.Capacity {
		o.send(t, link())
	}
	if o.Send(link()) {
		t.Fatal("a full queue took another message")
	}
	if !strings.Contains(o.log.String(), "mail was not queued") {
		t.Errorf("that the queue is full is not in the log: %s", o.log)
	}
	o.keepsSecrets(t)
	o.open(t)
	server.Wait(t, mail.Capacity)
	o.send(t, link())
	server.Wait(t, mail.Capacity+1)
}
