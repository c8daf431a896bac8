package iso20022_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made is when the folders of tests are made, and sending when payments are stored.
var (
	made    = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	sending = time.Date(2026, 11, 16, 18, 30, 0, 0, time.UTC) // the next day in Manila
)

const account = "acc_01h455vb4pex5vsknk084sn02q"

// bank is a connector and its folder.
type bank struct {
	*iso20022.Connector
	t      testing.TB
	folder string
	rail   *rail.Rail
}

func open(t testing.TB, folder string, change ...func(s *iso20022.Settings)) bank {
	t.Helper()
	s := iso20022.Settings{
		Folder: folder, DebtorName: "Bursar Inc.", DebtorAccount: "0012-3456-7890", DebtorBank: "BOPIPHMMXXX", Final: "ACSC",
		Services: map[string]string{"instapay": "INSTAPAY"}, Deposits: map[string]string{"8800 1234": account},
		Clock: func() time.Time { return made },
	}
	for _, fn := range change {
		fn(&s)
	}
	c, err := iso20022.New("ourbank", s)
	if err != nil {
		t.Fatal(err)
	}
	r := &rail.Rail{Name: "instapay", Title: "InstaPay", Currency: "PHP", Minimum: 100, Connector: c,
		Codes: map[string]string{"BOPIPHMMXXX": "BOPIPHMMXXX", "GXCHPHM2XXX": "GXI"}}
	return bank{c, t, folder, r}
}

func payment(id string, amount int64) rail.Payment {
	return rail.Payment{
		EndToEndID: id, PayoutID: "po_" + id, Attempt: 1, Submission: 1, Amount: amount, Currency: "PHP", At: sending.UnixMilli(), Description: "Salary",
		To: rail.Destination{Institution: "BOPIPHMMXXX", AccountNumber: "1234-5678-90", AccountName: "Ada Lovelace"},
	}
}

// list is what the golden file has.
func list() []rail.Payment {
	all := []rail.Payment{payment("PO1A1", 1), payment("PO2A1", 5_000_000), payment("PO3A2", 123_456_789_012_345)}
	all[1].To = rail.Destination{Institution: "GXCHPHM2XXX", AccountNumber: "0917 123 4567", AccountName: "José  <Peña> & \"Søns\" 松\n" + strings.Repeat("x", 200)}
	all[2].Description, all[2].At = "", sending.Add(-time.Minute).UnixMilli()
	return all
}

func (b bank) submit(list ...rail.Payment) []rail.Outcome {
	b.t.Helper()
	out, err := b.Submit(b.t.Context(), b.rail, list)
	if err != nil || len(out) != len(list) {
		b.t.Fatalf("submit: %v, %v", out, err)
	}
	return out
}

func (b bank) lookUp(list ...rail.Payment) []rail.State {
	b.t.Helper()
	out, err := b.LookUp(b.t.Context(), b.rail, list)
	if err != nil || len(out) != len(list) {
		b.t.Fatalf("look up: %v, %v", out, err)
	}
	var states []rail.State
	for _, o := range out {
		states = append(states, o.State)
	}
	return states
}

// files lists a folder, hidden files included.
func (b bank) files(folder string) []string {
	b.t.Helper()
	all, err := os.ReadDir(filepath.Join(b.folder, folder))
	if err != nil {
		b.t.Fatal(err)
	}
	names := []string{}
	for _, file := range all {
		names = append(names, file.Name())
	}
	return names
}

func (b bank) text(parts ...string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{b.folder}, parts...)...))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b bank) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// golden compares a text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != text {
		t.Errorf("it is not as in %s, %v:\n%s", file, err, text)
	}
}

func TestPaymentsGoOutAsAFile(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	for _, o := range b.submit(list()...) {
		if o.State != rail.Accepted || !strings.HasPrefix(o.Reference, "BUR") || len(o.Reference) > 35 {
			t.Errorf("got %+v", o)
		}
	}
	names := b.files("out")
	if len(names) != 1 || !strings.HasPrefix(names[0], "20261116T183000Z-BUR") || !strings.HasSuffix(names[0], ".xml") {
		t.Fatalf("out/ has %q", names)
	}
	golden(t, "pain001.xml", b.text("out", names[0]))
	if noted := b.text("sent", names[0]+".list"); noted != "PO1A1 1 PHP 1 - instapay -\nPO2A1 5000000 PHP 1 - instapay -\nPO3A2 123456789012345 PHP 1 - instapay -\n" {
		t.Errorf("sent/ has %q", noted)
	}
}

// The record has what a store that was restored needs to know.
func TestTheRecordListsWhatWasSent(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	p := payment("PO1A1", 100)
	p.AccountID, p.ExternalHash, p.Submission = "acc_1", "0123abcd", 2
	b.submit(p)
	b.must(os.WriteFile(filepath.Join(b.folder, "sent", "20261101T000000Z-BUROLD.xml.list"), []byte("PO9A1 8 PHP 3 - instapay -\n"), 0o600))
	var got []rail.Recorded
	b.must(b.Recorded(t.Context(), 0, func(p rail.Recorded) error {
		got = append(got, p)
		return nil
	}))
	old := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	want := []rail.Recorded{
		{EndToEndID: "PO9A1", Submission: 3, Amount: 8, Currency: "PHP", Rail: "instapay", At: old},
		{EndToEndID: "PO1A1", Submission: 2, Amount: 100, Currency: "PHP", AccountID: "acc_1", Rail: "instapay", ExternalHash: "0123abcd", At: sending.Truncate(time.Second).UnixMilli()},
	}
	if !slices.Equal(got, want) {
		t.Errorf("the record has %+v, want %+v", got, want)
	}
}

func TestAnIndependentReaderAgreesWithTheFile(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python")
	}
	b := open(t, t.TempDir())
	b.submit(list()...)
	var wrong bytes.Buffer
	command := exec.CommandContext(t.Context(), python, "testdata/read.py", filepath.Join(b.folder, "out", b.files("out")[0]))
	command.Stderr = &wrong
	got, err := command.Output()
	want := "PO1A1|PHP|0.01|BOPIPHMMXXX|1234567890|Ada Lovelace\n" +
		"PO2A1|PHP|50000.00|GXI|09171234567|Jose .Pena. . .S.ns. . " + strings.Repeat("x", 117) + "\n" +
		"PO3A2|PHP|1234567890123.45|BOPIPHMMXXX|1234567890|Ada Lovelace\n"
	if err != nil || string(got) != want {
		t.Errorf("it reads\n%swant\n%s%v %s", got, want, err, wrong.String())
	}
}

func TestTheSamePaymentsAreTheSameFileAndGoOutOnce(t *testing.T) {
	t.Parallel()
	one, two := open(t, t.TempDir()), open(t, t.TempDir())
	one.submit(list()...)
	two.submit(list()...)
	names := one.files("out")
	if !slices.Equal(names, two.files("out")) || one.text("out", names[0]) != two.text("out", names[0]) {
		t.Error("two files of the same payments differ")
	}
	// The bank takes the file; what comes again is not sent again, alone or beside others.
	one.must(os.Remove(filepath.Join(one.folder, "out", names[0])))
	first := one.submit(list()...)
	again := one.submit(list()[1], payment("PO9A1", 700), list()[0], payment("PO9A1", 700))
	if again[0] != first[1] || again[2] != first[0] || again[1] != again[3] || again[1] == again[0] {
		t.Errorf("answered %v, then %v", first, again)
	}
	if names := one.files("out"); len(names) != 1 || strings.Contains(one.text("out", names[0]), "PO1A1") || strings.Count(one.text("out", names[0]), "<EndToEndId>") != 1 {
		t.Errorf("out/ has %q", names)
	}
}

// What people have found not to be paid goes out again under its end-to-end id, in another message.
func TestAPaymentThatWasNotPaidGoesOutAgainUnderItsID(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	p := payment("PO1A1", 700)
	b.submit(p)
	p.Submission, p.NotPaid = 2, 1
	p.ClaimedAt = p.At + time.Hour.Milliseconds()
	b.submit(p)
	var messages []string
	for _, name := range b.files("out") {
		text := b.text("out", name)
		_, rest, _ := strings.Cut(text, "<MsgId>")
		id, _, _ := strings.Cut(rest, "<")
		messages = append(messages, id)
		if strings.Count(text, "<EndToEndId>PO1A1</EndToEndId>") != 1 {
			t.Errorf("%s has %s", name, text)
		}
	}
	if len(messages) != 2 || messages[0] == messages[1] {
		t.Errorf("the messages are %q", messages)
	}
}

// A store that was restored makes an attempt again, at another time, which the bank has already.
func TestAPaymentOfARestoredStoreIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	first := payment("PO1A2", 700)
	b.submit(first)
	b.must(os.Remove(filepath.Join(b.folder, "out", b.files("out")[0]))) // the bank takes it
	again := first
	again.At, again.Since = first.At+time.Hour.Milliseconds(), first.At
	b.submit(again)
	if names := b.files("out"); len(names) != 0 {
		t.Errorf("out/ has %q", names)
	}
}

// A crash leaves one of four states behind; each is looked up, and each is sent again.
func TestACrashSendsNothingTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		crash func(b bank, name string) error
		want  rail.State
		waits int // files in out/ after the look-up
	}{
		"before anything was written": {func(b bank, name string) error {
			return errors.Join(os.Remove(filepath.Join(b.folder, "out", name)), os.Remove(filepath.Join(b.folder, "sent", name+".list")))
		}, rail.NotReceived, 0},
		"before it was noted": {func(b bank, name string) error {
			return errors.Join(os.Rename(filepath.Join(b.folder, "out", name), filepath.Join(b.folder, "out", "."+name+".tmp")), os.Remove(filepath.Join(b.folder, "sent", name+".list")))
		}, rail.NotReceived, 0},
		"while it was noted": {func(b bank, name string) error {
			return errors.Join(os.Rename(filepath.Join(b.folder, "out", name), filepath.Join(b.folder, "out", "."+name+".tmp")),
				os.Rename(filepath.Join(b.folder, "sent", name+".list"), filepath.Join(b.folder, "sent", "."+name+".list.tmp")))
		}, rail.NotReceived, 0},
		"before it was renamed": {func(b bank, name string) error {
			return os.Rename(filepath.Join(b.folder, "out", name), filepath.Join(b.folder, "out", "."+name+".tmp"))
		}, rail.Accepted, 1},
		"after it was renamed":   {func(bank, string) error { return nil }, rail.Accepted, 1},
		"after the bank took it": {func(b bank, name string) error { return os.Remove(filepath.Join(b.folder, "out", name)) }, rail.Accepted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []bool{true, false} {
				b := open(t, t.TempDir())
				b.submit(list()...)
				file := b.files("out")[0]
				text := b.text("out", file)
				b.must(c.crash(b, file))
				b = open(t, b.folder) // after a restart
				if ask {
					if got := b.lookUp(list()...); !slices.Equal(got, []rail.State{c.want, c.want, c.want}) {
						t.Errorf("looked up it is %v, want %v", got, c.want)
					}
					if names := b.files("out"); len(names) != c.waits {
						t.Errorf("out/ has %q", names)
					}
				}
				next := list()
				if ask && c.want == rail.NotReceived {
					for i := range next {
						next[i].Submission++
					}
				}
				b.submit(next...)
				names := b.files("out")
				if name == "after the bank took it" {
					if len(names) != 0 {
						t.Errorf("it was sent again: %q", names)
					}
				} else if next[0].Submission > 1 {
					if len(names) != 1 || names[0] == file || strings.Count(b.text("out", names[0]), "<EndToEndId>") != len(next) {
						t.Errorf("out/ has %q, want another message", names)
					}
				} else if len(names) != 1 || names[0] != file || b.text("out", file) != text {
					t.Errorf("out/ has %q", names)
				}
			}
		})
	}
}

func TestAFolderReportsNothingOlderThanItself(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	old, new := payment("OLD", 100), payment("NEW", 100)
	old.At, new.At = made.UnixMilli()-1, made.UnixMilli()
	if got := b.lookUp(old, new); !slices.Equal(got, []rail.State{rail.Unknown, rail.NotReceived}) {
		t.Errorf("it is %v", got)
	}
	b.must(os.RemoveAll(filepath.Join(b.folder, "sent"))) // as if the disk were gone
	if _, err := b.LookUp(t.Context(), b.rail, []rail.Payment{new}); err == nil {
		t.Error("without its notes it answers")
	}
	if status, why := b.Health(t.Context()); status != rail.Down || why == "" {
		t.Errorf("it is %s: %s", status, why)
	}
}

// Two nodes share the folder, and each sends what the other one may be sending.
func TestEachPaymentIsInOneFileHoweverManySend(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	nodes := []bank{open(t, folder), open(t, folder)}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			var some []rail.Payment
			for n := range 5 {
				some = append(some, payment(fmt.Sprintf("PO%d", (i*3+n)%20), 100))
			}
			if _, err := nodes[i%2].Submit(t.Context(), nodes[i%2].rail, some); err != nil {
				t.Errorf("submit: %v", err)
			}
		})
	}
	all.Wait()
	text := ""
	for _, name := range nodes[0].files("out") {
		text += nodes[0].text("out", name)
	}
	for i := range 20 {
		if got := strings.Count(text, fmt.Sprintf("<EndToEndId>PO%d</EndToEndId>", i)); got != 1 {
			t.Errorf("PO%d went out %d times", i, got)
		}
	}
}

func TestWhatCannotBeWrittenIsRefusedAlone(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	var some []rail.Payment
	for _, change := range []func(p *rail.Payment){
		func(p *rail.Payment) { p.EndToEndID = "PO_1" }, func(p *rail.Payment) { p.EndToEndID = strings.Repeat("A", 36) },
		func(p *rail.Payment) { p.Amount = 0 }, func(p *rail.Payment) { p.Currency = "EUR" }, func(p *rail.Payment) { p.To.Institution = "UNOBPHM2XXX" },
		func(p *rail.Payment) { p.To.AccountName = " " }, func(p *rail.Payment) { p.To.AccountNumber = "12" }, func(*rail.Payment) {},
	} {
		p := payment(fmt.Sprint("PO", len(some)), 100)
		change(&p)
		some = append(some, p)
	}
	var got []string
	for _, o := range b.submit(some...) {
		got = append(got, string(o.State)+" "+o.Code)
	}
	if want := []string{"rejected FF01", "rejected FF01", "rejected AM12", "rejected AM12", "rejected RC01", "rejected AC01", "rejected AC01", "accepted "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p := payment("PO1", 100)
	p.To.AccountName = ""
	var f *fault.Fault
	if err := b.rail.Check(p); !errors.As(err, &f) || f.Code != api.CodeValidation {
		t.Errorf("without a name: %v", err)
	}
	p.To.AccountName, p.To.AccountNumber = "Ada", "1239001" // no form of BPI, and no sandbox
	if err := b.rail.Check(p); !errors.As(err, &f) || f.Code != api.CodeInvalidAccount {
		t.Errorf("of another form: %v", err)
	}
}

func TestAFileThatTheGatewayLeavesIsNoticed(t *testing.T) {
	t.Parallel()
	now := made
	b := open(t, t.TempDir(), func(s *iso20022.Settings) { s.Clock = func() time.Time { return now } })
	b.submit(list()...)
	for at, want := range map[time.Time]rail.Status{sending: rail.Up, sending.Add(time.Hour): rail.Up, sending.Add(time.Hour + time.Second): rail.Degraded} {
		now = at
		if got, why := b.Health(t.Context()); got != want {
			t.Errorf("at %s it is %s: %s", at, got, why)
		}
	}
}

// A yen has no cents, and a dinar has a thousand fils.
func TestAmountsHaveTheDecimalsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	for currency, written := range map[string]string{"JPY": "1500", "KWD": "1.500"} {
		b := open(t, t.TempDir())
		b.rail.Currency = currency
		p := payment("PO1A1", 1500)
		p.Currency = currency
		id := b.submit(p)[0].Reference
		file := b.text("out", b.files("out")[0])
		for _, want := range []string{`<InstdAmt Ccy="` + currency + `">` + written + `</InstdAmt>`, `<CtrlSum>` + written + `</CtrlSum>`, `<DbtrAcct>`, `<Ccy>` + currency + `</Ccy>`} {
			if !strings.Contains(file, want) {
				t.Errorf("%s: the file has no %s:\n%s", currency, want, file)
			}
		}
		// The answer, and the sum by which the bank books the whole message, mean the same amount.
		if got := b.hear(report(id, `<GrpSts>ACSC</GrpSts>`, "")); !strings.Contains(got, `decided`) || !strings.Contains(got, `e2e="PO1A1"`) {
			t.Errorf("%s: heard %s", currency, got)
		}
		camt := func(amount, more string) string {
			return b.hear(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>` +
				`<Ntry><Amt Ccy="` + currency + `">` + amount + `</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R1</AcctSvcrRef>` + more + `</Ntry></Stmt></BkToCstmrStmt></Document>`)
		}
		for name, got := range map[string]string{
			"one payment": camt(written, `<NtryDtls><TxDtls><Refs><EndToEndId>PO1A1</EndToEndId></Refs></TxDtls></NtryDtls>`),
			"the batch":   camt(written, `<NtryDtls><Btch><MsgId>`+id+`</MsgId></Btch></NtryDtls>`),
		} {
			if !strings.Contains(got, `settled -1500 `+currency) || !strings.Contains(got, `e2e="PO1A1"`) {
				t.Errorf("%s of %s: heard %s", name, currency, got)
			}
		}
	}
	b := open(t, t.TempDir())
	b.brings("file.xml", `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>`+
		`<Ntry><Amt Ccy="JPY">15.5</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts></Ntry></Stmt></BkToCstmrStmt></Document>`)
	if all := b.receive(); len(all) != 0 || !strings.Contains(fmt.Sprint(b.reasons()), "more decimals than its currency") {
		t.Errorf("half a yen is %v, refused for %q", all, b.reasons())
	}
}
