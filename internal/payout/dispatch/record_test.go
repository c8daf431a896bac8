package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/payout"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
)

// live is a bank whose live account pays by files.
type live struct {
	*bank
	folder string
	files  rail.Connector
}

// recordedLine is a line to a connector that keeps a record.
type recordedLine struct {
	*line
	rail.Recorder
}

func openLive(t *testing.T, store dbtest.Store) *live {
	t.Helper()
	l := &live{bank: openBank(t, store), folder: t.TempDir()}
	l.account = l.newAccountIn(api.ModeLive, 100_000_000)
	return l.at(l.folder)
}

// at is a node on the same store with a folder.
func (l *live) at(folder string) *live {
	l.t.Helper()
	b := *l.bank
	node := &live{bank: &b, folder: folder}
	node.rails(`[{"name": "instapay", "currency": "PHP", "minimum_cents": 100, "connector": "ourbank", "always": true, "members": "I"}]`)
	return node
}

// rails starts the node with these rails.
func (l *live) rails(rails string) {
	l.t.Helper()
	file := filepath.Join(l.folder, "rails.json")
	l.must(os.WriteFile(file, []byte(`{"connectors": {"ourbank": {"kind": "iso20022", "settings": {}}}, "rails": `+rails+`}`), 0o600))
	loaded, err := rail.Load(file, rail.Config{Simulator: l.sim, Make: map[string]func(name string, settings []byte) (rail.Connector, error){
		"iso20022": func(name string, _ []byte) (rail.Connector, error) {
			c, err := iso20022.New(name, iso20022.Settings{Folder: l.folder, DebtorName: "Us", DebtorAccount: "001234567890", DebtorBank: "BOPIPHMMXXX", Final: "ACSC", Clock: l.clock.Now})
			l.files, l.line = c, &line{Connector: c}
			return &recordedLine{l.line, c}, err
		},
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.log = &strings.Builder{}
	l.bank.rails = loaded
	l.Dispatcher = newDispatcher(l.db, l.vault, loaded, slog.NewTextHandler(l.log, nil))
}

// hasSent checks which payouts are in the messages of the folder.
func (l *live) hasSent(payouts ...string) {
	l.t.Helper()
	var ids, want []string
	for _, id := range payouts {
		want = append(want, payout.EndToEndID(id, 1))
	}
	names, err := filepath.Glob(filepath.Join(l.folder, "out", "*.xml"))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, piece := range strings.Split(string(text), "<EndToEndId>")[1:] {
			id, _, _ := strings.Cut(piece, "<")
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Sort(want)
	equal(l.t, "sent", ids, want)
}

// notes are the files with what the folder knows of its messages.
func (l *live) notes() []string {
	l.t.Helper()
	names, err := filepath.Glob(filepath.Join(l.folder, "sent", "*.list"))
	l.must(err)
	return names
}

// loseNotes deletes what the folder knows of its messages.
func (l *live) loseNotes() {
	l.t.Helper()
	for _, name := range l.notes() {
		l.must(os.Remove(name))
	}
}

// sends checks whether the connector is up, and its reason if it is not.
func (l *live) sends(reason string) {
	l.t.Helper()
	status, why := l.files.Health(context.Background())
	switch {
	case reason == "" && status == rail.Down, reason != "" && (status != rail.Down || !strings.Contains(why, reason)):
		l.t.Errorf("the connector is %s: %s, want %q", status, why, reason)
	case reason != "" && (l.RecordConflicts.Load() == 0 || !strings.Contains(l.log.String(), reason)):
		l.t.Errorf("no alarm was raised; the log: %s", l.log)
	}
}

func (l *live) adopt(confirm bool) payout.RecordConflict {
	l.t.Helper()
	found, _, err := payout.AdoptRecord(context.Background(), l.db, db.Caller{}, "ourbank", "", confirm)
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

func TestANewFolderGetsAnIdentityThatTheStoreRemembers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		first := l.pay(number("0001"))[0]
		l.turn()
		l.sends("")
		again := l.at(l.folder) // after a restart
		second := again.pay(number("0001"))[0]
		again.turn()
		again.sends("")
		again.hasSent(first, second)
		if _, _, err := payout.AdoptRecord(t.Context(), l.db, db.Caller{}, "ourbank", "", true); !errors.Is(err, payout.ErrNoConflict) {
			t.Errorf("adopted without need: %v", err)
		}
	})
}

func TestAnotherFolderSendsNothingUntilItIsAdopted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		accepted := l.pay(number("0001"))[0]
		l.turn()
		unanswered := l.pay(number("0002"))[0]
		l.die() // after its claim, as far as the other node knows
		l.write(func(tx *db.Tx) error {
			return tx.Exec(`UPDATE payout_attempt SET state = 'sending', accepted = 0 WHERE payout_id = $1`, unanswered)
		})
		other := l.at(t.TempDir())
		waiting := other.pay(number("0003"))[0]
		other.settle(time.Hour)
		other.sends("not the one that the store knows")
		other.hasSent()
		other.is(accepted, "processing outcome_unknown")
		other.is(waiting, "pending")

		if found := other.adopt(false); len(found.Missing) != 2 {
			t.Errorf("found %+v", found)
		}
		other.turn()
		other.sends("not the one that the store knows") // nothing was confirmed
		other.adopt(true)
		other.settle(time.Hour)
		other.sends("")
		other.is(accepted, "processing contradicted")
		other.is(unanswered, "processing contradicted")
		other.hasSent(waiting)
		l.turn()
		l.sends("not the one that the store knows") // the first folder is the wrong one now
	})
}

func TestAFolderThatReturnsIsUsedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		other := l.at(t.TempDir())
		other.turn()
		other.sends("not the one that the store knows")
		l.turn() // the first node still has the right folder
		l.sends("")

		back := l.at(l.folder)
		back.turn()
		back.sends("")
		var conflicts []payout.RecordConflict
		l.read(func(q db.Q) (err error) {
			conflicts, err = payout.ReadConflicts(q, "ourbank")
			return err
		})
		if len(conflicts) != 0 {
			t.Errorf("the store still has %+v", conflicts)
		}
	})
}

func TestAFolderThatHasLostWhatTheBankAcceptedSendsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		id := l.pay(number("0001"))[0]
		l.turn()
		l.loseNotes()
		l.settle(time.Hour)
		l.sends("does not list payments that the bank has accepted: 1")
		waiting := l.pay(number("0002"))[0]
		l.settle(time.Hour)
		l.is(waiting, "pending")
		restarted := l.at(l.folder)
		restarted.turn()
		restarted.sends("does not list payments that the bank has accepted: 1")

		l.adopt(true)
		l.settle(time.Hour)
		l.sends("")
		l.is(id, "processing contradicted")
		l.hasSent(id, waiting)
	})
}

func TestAStoreThatDoesNotKnowAFolderSendsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		folder := t.TempDir()
		if err := os.MkdirAll(filepath.Join(folder, "sent"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "sent", "20261116T090000Z-BURX.xml.list"), []byte("OTHERA1 100 PHP 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		other := l.at(folder)
		id := other.pay(number("0001"))[0]
		other.turn()
		other.sends("the store does not know the folder")
		other.is(id, "pending")
		if found := other.adopt(true); fmt.Sprint(found.Unknown) != "[OTHERA1]" {
			t.Errorf("found %+v", found)
		}
		other.turn()
		other.sends("")
		other.hasSent(id)
	})
}

func TestAFolderThatIsGoneStopsSending(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		away := l.folder + ".away"
		if err := os.Rename(l.folder, away); err != nil {
			t.Fatal(err)
		}
		id := l.pay(number("0001"))[0]
		_, _ = l.Turn(t.Context()) // look-ups fail
		l.sends("no such file")
		l.is(id, "pending")
		if err := os.Rename(away, l.folder); err != nil {
			t.Fatal(err)
		}
		l.clock.advance(20 * time.Second)
		l.turn()
		l.sends("")
		l.hasSent(id)
	})
}

// unanswered is a payout whose file is out. The node was killed before it stored the answer.
func (l *live) unanswered() string {
	l.t.Helper()
	id := l.pay(number("0002"))[0]
	l.turn()
	l.write(func(tx *db.Tx) error {
		return tx.Exec(`UPDATE payout_attempt SET state = 'sending', accepted = 0 WHERE payout_id = $1`, id)
	})
	return id
}

func (l *live) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// A folder is restored: its identity is there before its notes are.
func TestAFolderThatReturnsWithoutItsNotesSendsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		accepted := l.pay(number("0001"))[0]
		l.turn()
		lost := l.unanswered()
		l.turn()
		sent, away := filepath.Join(l.folder, "sent"), filepath.Join(t.TempDir(), "sent")
		l.must(os.Rename(sent, away))
		_, _ = l.Turn(t.Context()) // look-ups fail
		l.sends("no such file")
		l.must(os.Mkdir(sent, 0o700))
		text, err := os.ReadFile(filepath.Join(away, "identity"))
		l.must(errors.Join(err, os.WriteFile(filepath.Join(sent, "identity"), text, 0o600)))
		l.clock.advance(20 * time.Second)
		l.turn()
		l.sends("does not list")
		l.hasSent(accepted, lost)

		l.must(errors.Join(os.RemoveAll(sent), os.Rename(away, sent)))
		l.settle(time.Minute)
		l.sends("") // without an operator
		l.is(accepted, "processing")
		l.hasSent(accepted, lost)
	})
}

// Another node goes on sending with the right folder, and dies, while an operator looks at what was found.
func TestAdoptingAFolderCoversWhatWasSentMeanwhile(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		other := l.at(t.TempDir())
		other.turn()
		other.sends("not the one that the store knows")
		l.clock.advance(time.Second)
		id := l.unanswered()
		l.hasSent(id)
		other.adopt(true)
		other.settle(time.Minute)
		other.sends("")
		other.hasSent()
		other.is(id, "processing contradicted")
		waiting := l.pay(number("0003"))[0] // the first node has not noticed
		claimed, err := l.Claim(t.Context())
		if err != nil || claimed != 0 {
			t.Errorf("claimed %d payouts with a folder that the store does not know, %v", claimed, err)
		}
		l.is(waiting, "pending")
	})
}

// The folder is replaced between two checks.
func TestAReplacedFolderAnswersNothingBeforeItIsNoticed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		id := l.unanswered()
		other := l.at(t.TempDir())
		l.must(errors.Join(os.Rename(l.folder, l.folder+".away"), os.Rename(other.folder, l.folder)))
		p := rail.Payment{EndToEndID: payout.EndToEndID(id, 1), Submission: 1, At: l.clock.Now().UnixMilli()}
		for name, call := range map[string]func(context.Context, *rail.Rail, []rail.Payment) ([]rail.Outcome, error){"looked up": l.files.LookUp, "submitted": l.files.Submit} {
			out, err := call(t.Context(), &rail.Rail{}, []rail.Payment{p})
			if err != nil || out[0].State != rail.Unknown {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		}
		l.hasSent()
	})
}

func TestAWrongFolderOfOneNodeDoesNotTrustTheDamagedOneOfAnother(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		l.pay(number("0001"))
		l.turn()
		l.loseNotes()
		l.clock.advance(6 * time.Minute)
		l.turn()
		l.sends("does not list")
		other := l.at(t.TempDir())
		other.turn()
		l.settle(time.Minute)
		l.sends("does not list")
		if _, _, err := payout.AdoptRecord(t.Context(), l.db, db.Caller{}, "ourbank", "", true); !errors.Is(err, payout.ErrSeveralFolders) {
			t.Errorf("adopted one of two folders: %v", err)
		}
	})
}

func TestAConnectorWithoutRailsIsCompared(t *testing.T) {
	l := openLive(t, dbtest.SQLite(t))
	l.rails(`[]`)
	for range 3 {
		l.turn()
	}
	l.sends("")
}

// Two nodes start at the same moment with a new folder.
func TestTwoNodesThatStartTogetherTrustTheirFolder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		nodes := []*live{l, l.at(l.folder), l.at(l.folder)}
		var all sync.WaitGroup
		for _, n := range nodes {
			all.Go(func() {
				if _, err := n.Turn(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		l.clock.advance(20 * time.Second)
		for _, n := range nodes {
			n.turn()
			n.sends("")
		}
	})
}

// The folder has lost its notes, and an operator adopts it. A payment whose answer was never stored may have been paid, too.
func TestAdoptingAFolderWithoutItsNotesSendsNothingAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		accepted := l.pay(number("0001"))[0]
		l.turn()
		lost := l.unanswered()
		l.loseNotes()
		l.clock.advance(20 * time.Second)
		l.turn()
		l.sends("does not list payments that the bank has accepted: 1")
		found := l.adopt(false)
		equal(t, "missing", found.Missing, []string{payout.EndToEndID(accepted, 1)})
		equal(t, "open", found.Open, []string{payout.EndToEndID(lost, 1)})
		l.adopt(true)
		l.settle(time.Hour)
		l.sends("")
		l.is(accepted, "processing contradicted")
		l.is(lost, "processing contradicted")
		l.hasSent(accepted, lost)
	})
}

// The folder still lists the first submission, which was not paid, but not the second.
func TestAdoptingAFolderThatListsOnlyWhatWasNotPaidSendsNothingAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		accepted := l.pay(number("0001"))[0]
		l.turn()
		lost := l.unanswered()
		l.exec(`UPDATE payout_attempt SET submission = 2, not_paid = 1 WHERE payout_id = $1`, lost)
		for _, name := range l.notes() {
			text, err := os.ReadFile(name)
			if err != nil || strings.Contains(string(text), payout.EndToEndID(accepted, 1)) {
				l.must(errors.Join(err, os.Remove(name)))
			}
		}
		l.clock.advance(20 * time.Second)
		l.turn()
		l.sends("does not list")
		l.adopt(true)
		l.settle(time.Hour)
		l.is(lost, "processing contradicted")
		l.hasSent(accepted, lost)
	})
}

// sent/ comes back from a backup of before, with its identity. What the bank had accepted since then is completed meanwhile.
func TestAnOldCopyOfAFolderSendsNothing(t *testing.T) {
	for name, adopted := range map[string]bool{"until the newest one is back": false, "until it is adopted": true} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				l := openLive(t, store)
				l.turn()
				listed := l.pay(number("0003"))[0]
				l.turn()
				copied := l.notes()
				lost := l.unanswered()
				done := l.pay(number("0001"))[0]
				l.turn()
				l.hear("statuses", decided(done, rail.Completed, ""))
				l.is(done, "completed")
				away := t.TempDir()
				for _, name := range l.notes() {
					if !slices.Contains(copied, name) {
						l.must(os.Rename(name, filepath.Join(away, filepath.Base(name))))
					}
				}
				l.clock.advance(20 * time.Second)
				l.turn()
				l.sends("does not list payments that the bank has accepted: 1")
				l.settle(10 * time.Minute)
				l.hasSent(listed, lost, done)

				want := "processing"
				if adopted {
					want = "processing contradicted"
					l.adopt(true)
				} else {
					l.must(os.CopyFS(filepath.Join(l.folder, "sent"), os.DirFS(away)))
				}
				l.settle(4 * time.Minute)
				l.sends("")
				l.is(lost, want)
				l.is(listed, "processing")
				l.settle(time.Hour)
				l.sends("")
				l.hasSent(listed, lost, done)
			})
		})
	}
}

// Notes that are older than the oldest open payout are deleted.
func TestOldNotesMayBeDeleted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		done := l.pay(number("0001"))[0]
		l.turn()
		l.hear("statuses", decided(done, rail.Completed, ""))
		l.loseNotes()
		l.clock.advance(time.Minute)
		open := l.pay(number("0002"))[0]
		l.settle(10 * time.Minute)
		l.sends("")
		l.is(open, "processing")
	})
}

// The machine of the database was set back to a snapshot, and no one has told Bursar.
func TestAStoreThatWasSetBackSendsNothing(t *testing.T) {
	for name, recovered := range map[string]bool{"until its folder is adopted": false, "until it is treated as restored": true} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
				o := openLiveOffice(t, store)
				restore := o.archive(t)
				o.clock.advance(time.Minute)
				id := o.pay(o.account, "salary-1", amount)
				o.turn()
				o.hasSent(id)

				r := restore()
				r.exec(`DELETE FROM setting WHERE name = 'rails_stopped'`) // which a restore by Bursar has set
				r.turn()
				r.sends("lists payments that the store does not know")
				waiting := r.live.pay(number("0003"))[0]
				r.settle(time.Minute)
				r.is(waiting, "pending")
				if found := r.adopt(false); fmt.Sprint(found.Unknown) != "["+payout.EndToEndID(id, 1)+"]" || len(found.Open)+len(found.Missing) > 0 {
					t.Errorf("found %+v", found)
				}
				if !recovered {
					r.adopt(true)
					r.settle(time.Hour)
					r.sends("")
					r.hasSent(id, waiting)
					return
				}
				r.write(func(tx *db.Tx) error {
					_, err := payout.StopRails(tx, "a test")
					return err
				})
				r.settle(time.Minute)
				equal(t, "unknown", r.unknown(), []string{id + " " + o.account.ID})
				r.acknowledge(id)
				if err := r.resume(false); err != nil {
					t.Fatal(err)
				}
				r.settle(10 * time.Minute)
				r.sends("")
				r.is(id, "processing outcome_unknown")
				if again, err := r.ask(o.account, "salary-1", amount); err != nil || again.Value.ID != id {
					t.Errorf("the same request is answered %+v, %v", again, err)
				}
				r.hasSent(id, waiting)
			})
		})
	}
}

// While a node runs, its database is set back. It notices that when it next reads the folder.
func TestANodeNoticesThatItsStoreWasSetBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		l := openLive(t, store)
		l.turn()
		l.clock.advance(time.Minute)
		id := l.pay(number("0001"))[0]
		l.turn()
		l.settle(10 * time.Minute)
		l.sends("")
		l.exec(`DELETE FROM payout_attempt WHERE payout_id = $1`, id)
		l.exec(`UPDATE setting SET value = $1 WHERE name = 'rail_record_compared:ourbank'`, fmt.Sprint(l.clock.Now().Add(-time.Hour).UnixMilli()))
		l.clock.advance(6 * time.Minute)
		l.turn()
		l.sends("lists payments that the store does not know")
	})
}

// After the moment of the archive a payout was approved and sent. It needs attention, and the store has no attempt of it.
func TestAStoreSendsAgainAfterItsRailsWereResumed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		o := openLiveOffice(t, store)
		id := o.pay(o.newAccountIn(api.ModeLive, 1_000_000), "salary-1", amount)
		o.is(id, "initiated")
		restore := o.archive(t)
		o.clock.advance(time.Minute)
		if err := o.approve("usr_b", id); err != nil {
			t.Fatal(err)
		}
		o.turn()
		o.hasSent(id)
		r := restore()
		r.turn()
		r.is(id, "initiated contradicted")
		if err := r.resume(false); err != nil {
			t.Fatal(err)
		}
		other := r.pay(o.account, "salary-2", amount)
		r.settle(time.Hour)
		r.sends("")
		r.hasSent(id, other)
	})
}
