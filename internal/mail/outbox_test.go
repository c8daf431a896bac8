package mail_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

func TestMailIsSentIfItsTransactionIsCommittedAndElseNot(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := closed(t, mail.Config{URL: server.URL})
	undone := errors.New("undone")
	_, err := db.Write(t.Context(), o.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), errors.Join(o.Queue(tx, mail.Accounts, link()), undone)
	})
	if !errors.Is(err, undone) || o.waiting(t) != 0 {
		t.Errorf("%d messages wait, %v", o.waiting(t), err)
	}
}

func TestTheStoreDoesNotRevealTheContentOfMail(t *testing.T) {
	o := closed(t, mail.Config{URL: "smtp://127.0.0.1:1"})
	o.send(t, link())
	var sealed []byte
	err := o.db.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT message_sealed FROM outgoing_mail`).Scan(&sealed)
		return err
	})
	if err != nil || len(sealed) < len(link().Text) || strings.Contains(string(sealed), "carla") || strings.Contains(string(sealed), "tok_") {
		t.Errorf("the store has %q, %v", sealed, err)
	}
}

// twoNodes are two nodes of a store, each with its own mail server, so that a test sees which of them sends.
func twoNodes(t *testing.T, store dbtest.Store, first, second mail.Config, clock func() time.Time) (a, b *office) {
	t.Helper()
	return onStore(t, store, first, clock), onStore(t, store, second, clock)
}

// silence is the address of a mail server that accepts connections and never answers.
func silence(t *testing.T) (url string, reached <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 1)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			select {
			case conns <- conn:
			default:
			}
		}
	})
	t.Cleanup(func() { listener.Close(); accepting.Wait() })
	return "smtp://" + listener.Addr().String(), conns
}

// What a node had taken when it died is sent by another one as soon as its lease has ended, and not before.
func TestMailOfANodeThatDiesIsSentByAnother(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		var clock dbtest.Clock
		server := smtptest.Start(t, smtptest.Options{})
		dies, lives := twoNodes(t, store, mail.Config{URL: "smtp://127.0.0.1:1"}, mail.Config{URL: server.URL}, clock.Now)
		dies.send(t, link())
		if n, err := dies.Take(t.Context(), mail.Accounts); n != 1 || err != nil {
			t.Fatalf("took %d messages, %v", n, err)
		}
		lives.open(t)
		lives.send(t, link())
		server.Wait(t, 1)
		lives.waits(t, 1)
		clock.Advance(mail.Lease)
		got := server.Wait(t, 2)
		if got[0].Header.Get("Message-Id") == got[1].Header.Get("Message-Id") {
			t.Error("two messages have one Message-ID")
		}
		lives.ended(t)
	})
}

// A node that works keeps its lease, however long the mail server takes.
func TestAMessageIsNotTakenFromANodeThatDeliversIt(t *testing.T) {
	t.Parallel()
	server := smtptest.Start(t, smtptest.Options{})
	url, reached := silence(t)
	slow, other := twoNodes(t, dbtest.SQLite(t), mail.Config{URL: url}, mail.Config{URL: server.URL}, nil)
	slow.SetGrace(0)
	slow.send(t, link())
	slow.open(t)
	<-reached
	due := slow.due(t)
	wait.Until(t, "the lease is extended", func() bool { return slow.due(t) != due })
	other.open(t)
	other.send(t, link())
	server.Wait(t, 1)
	other.waits(t, 1)
}

func TestWhatIsQueuedAtAShutdownIsSentAfterTheNextStart(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	store := dbtest.SQLite(t)
	url, reached := silence(t)
	before, after := twoNodes(t, store, mail.Config{URL: url}, mail.Config{URL: server.URL}, nil)
	before.SetGrace(0)
	before.send(t, link())
	before.open(t)
	<-reached
	before.stop()
	after.hurry(t) // the pause after a failed attempt
	after.open(t)
	server.Wait(t, 1)
}

func TestAMessageThatTheServerIsTakingIsFinishedAtAShutdown(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := closed(t, mail.Config{URL: server.URL})
	for range 3 {
		o.send(t, link())
	}
	o.open(t)
	server.Wait(t, 1)
	o.stop()
	if got := int64(len(server.Received())) + o.waiting(t); got != 3 {
		t.Errorf("%d of 3 messages have arrived or wait", got)
	}
}

func TestUnsentMailIsDroppedAfterADay(t *testing.T) {
	var clock dbtest.Clock
	o := onStore(t, dbtest.SQLite(t), mail.Config{URL: "smtp://127.0.0.1:1"}, clock.Now)
	expire := func() {
		_, err := db.Write(t.Context(), o.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), mail.Expire(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o.send(t, link())
	clock.Advance(mail.MaxAge - time.Minute)
	expire()
	if o.waiting(t) != 1 {
		t.Error("it goes before a day is over")
	}
	clock.Advance(time.Minute)
	expire()
	if o.waiting(t) != 0 {
		t.Error("it does not go")
	}
}

// due returns when the only message is due.
func (o *office) due(t *testing.T) (at int64) {
	t.Helper()
	err := o.db.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT due_at FROM outgoing_mail`).Scan(&at)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// hurry makes everything due that no node delivers.
func (o *office) hurry(t *testing.T) {
	t.Helper()
	_, err := db.Write(context.Background(), o.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE outgoing_mail SET due_at = 0 WHERE claim = ''`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// put runs a change in a transaction.
func (o *office) put(t *testing.T, fn func(tx *db.Tx) error) {
	t.Helper()
	_, err := db.Write(t.Context(), o.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("a test"), fn(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEachMessageIsSentOnceByNodesThatAllDeliverAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		server := smtptest.Start(t, smtptest.Options{})
		a, b := twoNodes(t, store, mail.Config{URL: server.URL}, mail.Config{URL: server.URL}, nil)
		for range 40 {
			a.send(t, link())
		}
		a.open(t)
		b.open(t)
		a.ended(t)
		seen := map[string]bool{}
		for _, m := range server.Received() {
			seen[m.Header.Get("Message-Id")] = true
		}
		if got := len(server.Received()); got != 40 || len(seen) != 40 {
			t.Errorf("%d messages have arrived, %d of them different", got, len(seen))
		}
	})
}

// A node that was paused does not know that its lease has ended. It sends what it was sending, and no more.
func TestANodeWhoseMailWasTakenOverSendsAtMostOneMessageMore(t *testing.T) {
	var clock dbtest.Clock
	server := smtptest.Start(t, smtptest.Options{})
	paused, other := twoNodes(t, dbtest.SQLite(t), mail.Config{URL: server.URL}, mail.Config{URL: server.URL}, clock.Now)
	for range 5 {
		paused.send(t, link())
	}
	taken, err := paused.TakeAll(t.Context(), mail.Accounts)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(mail.Lease)
	other.open(t).ended(t)
	if err := taken.Deliver(t.Context()); err == nil {
		t.Error("it did not notice")
	}
	if got := len(server.Received()); got > 6 {
		t.Errorf("%d messages have arrived of 5", got)
	}
}

func TestMailThatANodeCannotOpenIsLeftToOthers(t *testing.T) {
	store := dbtest.SQLite(t)
	o := onStore(t, store, mail.Config{URL: "smtp://127.0.0.1:1"}, nil)
	o.send(t, link())
	keyless := store
	keyless.VaultKey = filepath.Join(t.TempDir(), "vault.key")
	if err := os.WriteFile(keyless.VaultKey, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := keyless.Open(t)
	book := &logBook{}
	m, err := mail.New(mail.Config{URL: "smtp://127.0.0.1:1", From: "bursar@sender.example"}, d, keyless.Vault(d), slog.New(slog.NewTextHandler(book, nil)))
	if err != nil {
		t.Fatal(err)
	}
	taken, err := m.TakeAll(t.Context(), mail.Accounts)
	if err == nil {
		err = taken.Deliver(t.Context())
	}
	if err != nil || o.waiting(t) != 1 || !strings.Contains(book.String(), "left to other nodes") {
		t.Errorf("%d messages wait, %v: %s", o.waiting(t), err, book)
	}
}

func TestAShutdownIsNoFailedAttempt(t *testing.T) {
	url, reached := silence(t)
	o := onStore(t, dbtest.SQLite(t), mail.Config{URL: url, Backoff: []time.Duration{}}, nil) // one attempt
	o.SetGrace(0)
	o.send(t, link())
	o.open(t)
	<-reached
	o.stop()
	if o.waiting(t) != 1 {
		t.Errorf("the message was given up: %s", o.log)
	}
}

func TestMailIsTooOldAfterADay(t *testing.T) {
	var clock dbtest.Clock
	server := smtptest.Start(t, smtptest.Options{})
	o := onStore(t, dbtest.SQLite(t), mail.Config{URL: server.URL}, clock.Now)
	o.send(t, link())
	clock.Advance(mail.MaxAge)
	o.send(t, link())
	o.open(t)
	o.waits(t, 1)
	if got := len(server.Received()); got != 1 {
		t.Errorf("%d messages have arrived", got)
	}
}

func TestAMessageThatNodesDieOfIsGivenUp(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := closed(t, mail.Config{URL: server.URL, Backoff: quick(1)})
	o.send(t, link())
	o.put(t, func(tx *db.Tx) error { return tx.Exec(`UPDATE outgoing_mail SET attempts = 100`) })
	o.open(t).ended(t)
	if len(server.Received()) != 0 || !strings.Contains(o.log.String(), "a node has died at each attempt") {
		t.Errorf("it was sent: %s", o.log)
	}
}

// The vault forgets a key two days after it was replaced.
func TestMailIsSealedWithAKeyThatIsKept(t *testing.T) {
	var clock dbtest.Clock
	store := dbtest.SQLite(t)
	o := onStore(t, store, mail.Config{URL: "smtp://127.0.0.1:1", Backoff: []time.Duration{time.Hour}}, clock.Now)
	o.open(t)
	operator := store.Vault(o.db)
	if _, err := operator.Reseal(t.Context(), db.Caller{}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(49 * time.Hour)
	o.put(t, operator.Expire)
	wait.Until(t, "mail is sealed with the new key", func() bool { return o.queue(t, mail.Accounts, link()) == nil })
}
