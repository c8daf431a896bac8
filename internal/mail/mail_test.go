package mail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
	"bursar/internal/wait"
)

const (
	recipient = "carla.nunes@receiver.example"
	secret    = "https://pay.example.com/join#tok_7Q2XN5PWEBGM3K"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// office is a mailer at work on a node, with what it logs.
type office struct {
	*mail.Mailer
	db   *db.DB
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
	return onStore(t, dbtest.SQLite(t), config, nil)
}

// onStore is a mailer on a node of a store.
func onStore(t *testing.T, store dbtest.Store, config mail.Config, clock func() time.Time) *office {
	t.Helper()
	book := &logBook{}
	if config.From == "" {
		config.From = "Bursar <bursar@sender.example>"
	}
	d := store.OpenAt(t, clock)
	v := store.Vault(d)
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	m, err := mail.New(config, d, v, slog.New(slog.NewJSONHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatalf("make a mailer: %v", err)
	}
	m.SetGrace(time.Minute) // a busy machine loses no mail
	m.SetInterval(time.Millisecond)
	return &office{Mailer: m, db: d, log: book, stop: func() {}}
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

// queue stores a message in a transaction.
func (o *office) queue(t *testing.T, lane mail.Lane, m mail.Message) error {
	t.Helper()
	_, err := db.Write(t.Context(), o.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), o.Queue(tx, lane, m)
	})
	return err
}

func (o *office) send(t *testing.T, m mail.Message) {
	t.Helper()
	if err := o.queue(t, mail.Accounts, m); err != nil {
		t.Fatalf("the message was not queued: %v %s", err, o.log)
	}
}

// waiting counts the messages that are stored.
func (o *office) waiting(t *testing.T) (n int64) {
	t.Helper()
	err := o.db.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT count(*) FROM outgoing_mail`).Scan(&n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ended waits until every message was delivered or given up.
func (o *office) ended(t *testing.T) {
	t.Helper()
	o.waits(t, 0)
}

// waits waits until so many messages wait.
func (o *office) waits(t *testing.T, n int64) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("%d messages are queued: %s", o.waiting(t), o.log)
		}
	}()
	wait.Until(t, fmt.Sprintf("%d messages are queued", n), func() bool { return o.waiting(t) == n })
}

func (o *office) keepsSecrets(t *testing.T) {
	t.Helper()
	for _, part := range []string{"carla", secret, "tok_7Q2XN5PWEBGM3K", "sesame"} {
		if strings.Contains(o.log.String(), part) {
			t.Errorf("the log contains %q:\n%s", part, o.log)
		}
	}
}

func link() mail.Message {
	return mail.AccountLink{To: recipient, Link: secret, ExpiresAt: time.Date(2026, 10, 8, 14, 5, 0, 0, time.UTC)}.Message()
}

func TestNoMailerIsNotConfigured(t *testing.T) {
	m, err := mail.New(mail.Config{}, nil, nil, slog.New(slog.DiscardHandler))
	if m != nil || err != nil {
		t.Fatalf("an empty Config makes %v, %v", m, err)
	}
	if m.Configured() || m.Queue(nil, mail.Accounts, link()) == nil {
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
	if err := o.queue(t, mail.Accounts, link()); !errors.Is(err, mail.ErrFull) {
		t.Fatalf("a full queue took another message: %v", err)
	}
	if !strings.Contains(o.log.String(), "mail was not queued") {
		t.Errorf("that the queue is full is not in the log: %s", o.log)
	}
	if err := o.queue(t, mail.Invitations, link()); err != nil {
		t.Errorf("mail about accounts leaves no room for invitations: %v", err)
	}
	o.keepsSecrets(t)
	o.open(t)
	server.Wait(t, mail.Capacity+1)
	o.ended(t)
	o.send(t, link())
	server.Wait(t, mail.Capacity+2)
}
