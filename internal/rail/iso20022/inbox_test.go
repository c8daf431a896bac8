package iso20022_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"bursar/internal/rail"
	"bursar/internal/rail/iso20022"
)

// brings puts a file into in/, as a bank's gateway does.
func (b bank) brings(name, text string) {
	b.t.Helper()
	b.must(os.WriteFile(filepath.Join(b.folder, "in", name), []byte(text), 0o600))
}

func (b bank) receive() []rail.Message {
	b.t.Helper()
	all, err := b.Receive(b.t.Context())
	b.must(err)
	return all
}

// hear returns the messages of a file, as text.
func (b bank) hear(text string) string {
	b.t.Helper()
	b.brings("file.xml", text)
	all := b.receive()
	if len(all) != 1 {
		b.t.Fatalf("the file was not taken: %q", b.reasons())
	}
	b.must(b.Done(b.t.Context(), all[0]))
	return describe(all[0])
}

func describe(m rail.Message) string {
	var lines strings.Builder
	for _, n := range m.Notices {
		fmt.Fprintf(&lines, "%s %s | %s %d %s booked=%v e2e=%q account=%q | %s %q %q %q | %q\n", n.MessageID, n.EntryID, n.Kind, n.Amount, n.Currency, n.Booked,
			n.EndToEndID, n.AccountID, n.Outcome.State, n.Outcome.Code, n.Outcome.Text, n.Outcome.Reference, n.Text)
	}
	return lines.String()
}

func (b bank) reasons() (all []string) {
	b.t.Helper()
	for _, name := range b.files("refused") {
		if strings.HasSuffix(name, ".reason.txt") {
			all = append(all, b.text("refused", name))
		}
	}
	return all
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// report is a status report about a message.
func report(id, group, rest string) string {
	return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><MsgId>STS1</MsgId></GrpHdr><OrgnlGrpInfAndSts><OrgnlMsgId>` + id +
		`</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>` + group + `</OrgnlGrpInfAndSts>` + rest + `</CstmrPmtStsRpt></Document>`
}

func status(id, status, reason string) string {
	if reason != "" {
		reason = `<StsRsnInf><Rsn><Cd>` + reason + `</Cd></Rsn><AddtlInf>Because</AddtlInf></StsRsnInf>`
	}
	return `<TxInfAndSts><OrgnlEndToEndId>` + id + `</OrgnlEndToEndId><TxSts>` + status + `</TxSts>` + reason + `</TxInfAndSts>`
}

func TestStatusesDecidePayments(t *testing.T) {
	t.Parallel()
	for _, final := range []string{"ACSC", "ACCC"} {
		b := open(t, t.TempDir(), func(s *iso20022.Settings) { s.Final = final })
		id := b.submit(list()...)[0].Reference
		info := func(text string) string {
			return `<OrgnlPmtInfAndSts><OrgnlPmtInfId>` + id + `</OrgnlPmtInfId>` + text + `</OrgnlPmtInfAndSts>`
		}
		settled := "completed"
		if final == "ACCC" {
			settled = "accepted"
		}
		for name, c := range map[string]struct {
			text string
			want []string
		}{
			"each its own": {report(id, `<GrpSts>PART</GrpSts>`, info(status("PO1A1", "ACSC", "")+status("PO2A1", "RJCT", "AC04")+status("PO3A2", "ACCC", ""))),
				[]string{"PO1A1 " + settled + " ACSC", "PO2A1 rejected AC04", "PO3A2 completed ACCC"}},
			"not decided": {report(id, `<GrpSts>ACCP</GrpSts>`, info(status("PO1A1", "ACSP", "")+status("PO2A1", "PDNG", "")+status("PO3A2", "NEWS", ""))),
				[]string{"PO1A1 accepted ACSP", "PO2A1 accepted PDNG", "PO3A2 accepted NEWS"}},
			"all refused": {report(id, `<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>AM04</Cd></Rsn></StsRsnInf>`, ""),
				[]string{"PO1A1 rejected AM04", "PO2A1 rejected AM04", "PO3A2 rejected AM04"}},
			"the rest refused": {report(id, "", info(`<PmtInfSts>RJCT</PmtInfSts><StsRsnInf><Rsn><Prtry>X9</Prtry></Rsn></StsRsnInf>`+status("PO2A1", "ACCC", ""))),
				[]string{"PO2A1 completed ACCC", "PO1A1 rejected X9", "PO3A2 rejected X9"}},
			"a partial status leaves out the rest": {report(id, `<GrpSts>PART</GrpSts>`, info(status("PO2A1", "RJCT", "RC01"))), []string{"PO2A1 rejected RC01"}},
			"by the other id":                      {report(id, "", info(`<TxInfAndSts><OrgnlInstrId>PO1A1</OrgnlInstrId><TxSts>RJCT</TxSts></TxInfAndSts>`)), []string{"PO1A1 rejected "}},
			// A bank that has it already reports a duplicate: the first one is on its way, not refused.
			"already sent": {report(id, `<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>DU01</Cd></Rsn></StsRsnInf>`, info(status("PO1A1", "RJCT", "AM05"))),
				[]string{"PO1A1 rejected AM05", "PO2A1 rejected DU01", "PO3A2 rejected DU01"}},
		} {
			b.brings("sts.xml", c.text)
			all := b.receive()
			if len(all) != 1 {
				t.Errorf("%s: the file was not taken: %q", name, b.reasons())
				continue
			}
			var got []string
			for _, n := range all[0].Notices {
				if n.Kind != rail.Decided || n.MessageID != "STS1" || n.EntryID == "" {
					t.Errorf("%s: heard %+v", name, n)
				}
				got = append(got, n.EndToEndID+" "+string(n.Outcome.State)+" "+n.Outcome.Code)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s with %s: heard %q, want %q", name, final, got, c.want)
			}
			b.must(b.Done(t.Context(), all[0]))
		}
		for name, text := range map[string]string{
			"a message of others":  report("THEIRS", `<GrpSts>RJCT</GrpSts>`, ""),
			"no message":           report("", `<GrpSts>RJCT</GrpSts>`, ""),
			"a path":               report("../sent/since", `<GrpSts>RJCT</GrpSts>`, ""),
			"a payment of others":  report(id, "", info(status("PO77A1", "RJCT", "AC04"))),
			"no id of the message": strings.Replace(report(id, "", ""), "STS1", "", 1),
		} {
			b.brings("sts.xml", text)
			if all := b.receive(); len(all) != 0 {
				t.Errorf("%s was taken: %v", name, all)
			}
		}
		if got := len(b.reasons()); got != 5 {
			t.Errorf("%d files were refused", got)
		}
	}
}

func TestStatementsReportMovements(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	statement, notification := b.hear(testdata(t, "camt053.xml")), b.hear(testdata(t, "camt054.xml"))
	golden(t, "camt053.txt", statement)
	golden(t, "camt054.txt", notification)
	// An entry of a notification has the same name in the statement after it, so that it counts once.
	for _, name := range []string{"001234567890 BANK1/-1/BOOK |", "001234567890 BANK5/100050/BOOK |"} {
		if !strings.Contains(statement, name) || !strings.Contains(notification, name) {
			t.Errorf("%q is not in both", name)
		}
	}
}

// The bank has one reference for an entry, and more details of it in one file than in the other.
func TestAnEntryHasOneNameWithAndWithoutDetails(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	file := func(kind, list, one, entry, details string) string {
		return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:` + kind + `"><` + list + `><GrpHdr><MsgId>` + kind + `</MsgId></GrpHdr><` + one +
			`><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct><Ntry><Amt Ccy="PHP">7.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` + entry +
			`<NtryDtls><TxDtls>` + details + `<RmtInf><Ustrd>` + account + `</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry></` + one + `></` + list + `></Document>`
	}
	statement := func(entry, details string) string {
		return b.hear(file("camt.053.001.08", "BkToCstmrStmt", "Stmt", entry, details))
	}
	const want = "001234567890 R1/700/BOOK | deposited 700 PHP booked=true"
	got := b.hear(file("camt.054.001.08", "BkToCstmrDbtCdtNtfctn", "Ntfctn", `<AcctSvcrRef>R1</AcctSvcrRef>`, `<Refs><AcctSvcrRef>T1</AcctSvcrRef><EndToEndId>E1</EndToEndId></Refs>`))
	for name, got := range map[string]string{
		"the notification":          got,
		"a statement with no more":  statement(`<AcctSvcrRef>R1</AcctSvcrRef>`, ``),
		"one with an end-to-end id": statement(`<AcctSvcrRef>R1</AcctSvcrRef>`, `<Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>`),
		"one with it further in":    statement(``, `<Refs><AcctSvcrRef>R1</AcctSvcrRef></Refs>`),
	} {
		if !strings.HasPrefix(got, want) || !strings.Contains(got, `"R1" |`) {
			t.Errorf("%s contains %s", name, got)
		}
	}
}

// Where a bank has no reference it writes a word, which is the same for all of its payments.
func TestAWordForNoReferenceIsNone(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	statement := func(message, word string) string {
		b.t.Helper()
		refs := `<AcctSvcrRef>` + word + `</AcctSvcrRef>`
		return b.hear(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>` + message +
			`</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct><Ntry><NtryRef>` + word +
			`</NtryRef><Amt Ccy="PHP">7.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` + refs +
			`<NtryDtls><TxDtls><Refs>` + refs + `<EndToEndId>` + word + `</EndToEndId></Refs></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`)
	}
	without := statement("S1", "")
	for _, word := range []string{"NONREF", "nonref", " NonRef ", "NOTPROVIDED", "Not provided", "NOT_PROVIDED", "N/A", "NONE", "no-ref", "-", "0000"} {
		if got := statement("S1", word); got != without {
			t.Errorf("with %q the statement contains %s, want %s", word, got, without)
		}
	}
	if first, second, _ := strings.Cut(without, " "); first != "S1" || !strings.Contains(second, `e2e=""`) {
		t.Errorf("the statement contains %s", without)
	}
	for _, word := range []string{"NONREF1", "0001", "NA7"} {
		if got := statement("S1", word); !strings.HasPrefix(got, "001234567890 "+word+"/-700/BOOK | settled") {
			t.Errorf("with %q the statement contains %s", word, got)
		}
	}
	id := b.submit(payment("PO1A1", 100))[0].Reference
	if got := b.hear(report(id, "", `<OrgnlPmtInfAndSts><TxInfAndSts><OrgnlInstrId>PO1A1</OrgnlInstrId><OrgnlEndToEndId>NOTPROVIDED</OrgnlEndToEndId><TxSts>ACSC</TxSts><AcctSvcrRef>NONREF</AcctSvcrRef></TxInfAndSts></OrgnlPmtInfAndSts>`)); strings.Contains(got, "NON") || !strings.Contains(got, `e2e="PO1A1"`) {
		t.Errorf("a status without references contains %s", got)
	}
}

func TestABatchIsSettledAsAWhole(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	id := b.submit(payment("PO1A1", 100), payment("PO2A1", 250))[0].Reference
	entry := func(amount string) string {
		return `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>S1</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct><Ntry><Amt Ccy="PHP">` +
			amount + `</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R</AcctSvcrRef><NtryDtls><Btch><PmtInfId>` + id + `</PmtInfId></Btch></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`
	}
	if got := b.hear(entry("3.50")); strings.Count(got, "\n") != 2 || !strings.Contains(got, `settled -100 PHP booked=true e2e="PO1A1"`) || !strings.Contains(got, `settled -250 PHP booked=true e2e="PO2A1"`) {
		t.Errorf("heard %s", got)
	}
	if got := b.hear(entry("3.49")); strings.Count(got, "\n") != 1 || !strings.Contains(got, `unmatched -349 PHP`) {
		t.Errorf("of another sum heard %s", got)
	}
	if got := b.hear(strings.Replace(entry("3.50"), "PHP", "USD", 1)); strings.Count(got, "\n") != 1 || !strings.Contains(got, `unmatched -350 USD`) {
		t.Errorf("of another currency heard %s", got)
	}
}

func TestADebitIsNamedByWhatTheBankGivesIt(t *testing.T) {
	t.Parallel()
	reference := func(text string) string { return `<AcctSvcrRef>` + text + `</AcctSvcrRef>` }
	details := func(reference, id string) string {
		return `<TxDtls><Refs>` + reference + `<EndToEndId>` + id + `</EndToEndId></Refs><Amt Ccy="PHP">1.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>`
	}
	b := open(t, t.TempDir())
	again := payment("PO1A1", 100)
	again.Submission, again.NotPaid = 2, 1
	first, second := b.submit(payment("PO1A1", 100))[0].Reference, b.submit(again)[0].Reference
	sum := func(message string) string { return `<Btch><PmtInfId>` + message + `</PmtInfId></Btch>` }
	for name, c := range map[string]struct {
		amount, entry, details, want string
		submission                   int
	}{
		"an entry of one payment":                 {"1.00", reference("E1"), details("", "PO1A1"), "entry E1", 0},
		"an entry of one payment, both named":     {"1.00", reference("E1"), details(reference("T1"), "PO1A1"), "transaction T1", 0},
		"an entry of two":                         {"2.00", reference("E1"), details(reference("T1"), "PO1A1") + details(reference("T2"), "PO2A1"), "transaction T1", 0},
		"an entry of two, which alone is named":   {"2.00", reference("E1"), details("", "PO1A1") + details("", "PO2A1"), "batch E1", 0},
		"no reference":                            {"1.00", "", details("", "PO1A1"), "", 0},
		"a sum for a message, without more of it": {"1.00", reference("E1"), sum(first), "batch E1", 1},
		"a sum for a second message":              {"1.00", reference("E2"), sum(second), "batch E2", 2},
		"a sum without a reference":               {"1.00", "", sum(second), "message " + second, 2},
	} {
		b.brings("file.xml", `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>S1</MsgId></GrpHdr><Stmt><Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct><Ntry><Amt Ccy="PHP">`+
			c.amount+`</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>`+c.entry+`<NtryDtls>`+c.details+`</NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>`)
		all := b.receive()
		if len(all) != 1 || len(all[0].Notices) == 0 {
			t.Fatalf("%s: took %v, refused %q", name, all, b.reasons())
		}
		b.must(b.Done(t.Context(), all[0]))
		if n := all[0].Notices[0]; n.Kind != rail.Settled || n.Movement != c.want || n.Outcome.Submission != c.submission {
			t.Errorf("%s: %s %q of submission %d, want %q of %d", name, n.Kind, n.Movement, n.Outcome.Submission, c.want, c.submission)
		}
	}
}

func TestDamagedAndForeignFilesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	good := testdata(t, "camt054.xml")
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	var zipped bytes.Buffer
	archive := zip.NewWriter(&zipped)
	if _, err := archive.Create("camt054.xml"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	huge := good + strings.Repeat(" ", 32<<20)
	for name, c := range map[string]struct{ text, reason string }{
		"empty":                {"", "it is empty"},
		"white":                {" \n", "it is empty"},
		"words":                {"Dear customer", "it is no XML"},
		"zip":                  {zipped.String(), "it is no XML"},
		"zeros":                {strings.Repeat("\x00", 1000), "it is no XML"},
		"html":                 {"<!DOCTYPE html><html><body>Not found</body></html>", "document type"},
		"html without a type":  {"<html><body>Not found</body></html>", "its root is <html>"},
		"xxe":                  {`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>` + with("PO1A1", "&e;"), "document type"},
		"an entity":            {with("PO1A1", "&e;"), "invalid character entity"},
		"billion laughs":       {`<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><Document>&b;</Document>`, "document type"},
		"truncated":            {good[:len(good)/2], "it is damaged"},
		"without its end":      {good[:len(good)-len("</Document>\n")], "it is damaged"},
		"crossed":              {with("</Amt>", "</Sts>"), "it is damaged"},
		"another version":      {with("camt.054.001.08", "camt.054.001.02"), `it is a "camt.054.001.02"`},
		"no namespace":         {with(` xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"`, ""), `it is a ""`},
		"a payment of ours":    {testdata(t, "pain001.xml"), `it is a "pain.001.001.09"`},
		"another content":      {with("camt.054.001.08", "camt.053.001.08"), "it has <BkToCstmrDbtCdtNtfctn> where <BkToCstmrStmt> belongs"},
		"no content":           {`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"/>`, "it has no content"},
		"another account":      {with("001234567890", "001234567891"), "another account"},
		"no account":           {with("<Acct><Id><Othr><Id>001234567890</Id></Othr></Id></Acct>", ""), "does not say what account"},
		"no message id":        {with("NTFCTN1", ""), "no message id"},
		"a negative amount":    {with(`>0.01<`, `>-0.01<`), "no decimal number"},
		"an amount of thirds":  {with(`>0.01<`, `>0.333<`), "more decimals"},
		"an amount of words":   {with(`>0.01<`, `>1e3<`), "no decimal number"},
		"too much":             {with(`>0.01<`, `>99999999999999.00<`), "too large"},
		"no currency":          {with(` Ccy="PHP"`, ""), "the currency"},
		"neither way":          {with(">DBIT<", ">BOTH<"), "neither a credit nor a debit"},
		"another encoding":     {with("UTF-8", "ISO-8859-1"), "encoding"},
		"no UTF-8":             {with("thanks", "caf\xe9"), "it is damaged"},
		"two documents":        {good + good, "continues after its end"},
		"something after it":   {good + "and more", "continues after its end"},
		"more than the memory": {huge, "larger than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, t.TempDir())
			b.brings("file.xml", c.text)
			b.brings("later.xml", good)
			all := b.receive()
			if len(all) != 1 || !strings.HasPrefix(all[0].ID, "later.xml ") || len(all[0].Notices) != 3 {
				t.Fatalf("took %v", all)
			}
			if got := b.reasons(); len(got) != 1 || !strings.Contains(got[0], c.reason) || !utf8.ValidString(got[0]) || len(got[0]) > 1000 {
				t.Errorf("the reason is %q", got)
			}
			if b.text("refused", "file.xml") != c.text || !slices.Equal(b.files("in"), []string{"later.xml"}) {
				t.Error("the file was changed or left")
			}
		})
	}
}

// A hundred megabytes of nothing.
func TestAHugeFileTakesNoMemory(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	b.brings("huge.xml", `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>`)
	b.must(os.Truncate(filepath.Join(b.folder, "in", "huge.xml"), 100<<20))
	if all := b.receive(); len(all) != 0 || len(b.reasons()) != 1 {
		t.Errorf("took %v", all)
	}
}

func TestAFileStaysUntilItIsDone(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	text := testdata(t, "camt054.xml")
	b.brings("b.xml", text)
	b.brings("a.xml", strings.Replace(text, "NTFCTN1", "NTFCTN0", 1))
	first, second := b.receive(), b.receive()
	if len(first) != 2 || !strings.HasPrefix(first[0].ID, "a.xml ") || describe(first[0]) != describe(second[0]) || describe(first[1]) != describe(second[1]) || first[1].ID != second[1].ID {
		t.Fatalf("heard %v, then %v", first, second)
	}
	b.must(b.Done(t.Context(), first[1])) // out of order
	b.must(b.Done(t.Context(), first[1])) // another node reports it, too
	if all := b.receive(); len(all) != 1 || all[0].ID != first[0].ID || !slices.Equal(b.files("done"), []string{"b.xml"}) {
		t.Errorf("heard %v", all)
	}
	// The same file is delivered again, and has the same messages under the same names.
	b.brings("b.xml", text)
	all := b.receive()
	if len(all) != 2 || describe(all[1]) != describe(first[1]) {
		t.Errorf("heard %v", all)
	}
	b.must(b.Done(t.Context(), all[1]))
	if got := b.files("done"); !slices.Equal(got, []string{"b.xml", "b.xml.2"}) {
		t.Errorf("done/ has %q", got)
	}
	// Another file of the same name is not done when the first one is.
	b.brings("a.xml", strings.Replace(text, "NTFCTN1", "NTFCTN2", 1))
	b.must(b.Done(t.Context(), first[0]))
	if all := b.receive(); len(all) != 1 || all[0].ID == first[0].ID {
		t.Errorf("heard %v", all)
	}
	if err := b.Done(t.Context(), rail.Message{ID: "x"}); err == nil {
		t.Error("a message of others is done")
	}
}

func TestFilesOfWhichSomethingIsLeftKeepNoOthersWaiting(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	text := testdata(t, "camt054.xml")
	for i := range 10 {
		b.brings(fmt.Sprintf("%d.xml", i), text)
	}
	heard := map[string]int{}
	for range 5 {
		for _, m := range b.receive() {
			heard[m.ID[:1]]++
			m.Left = 1
			b.must(b.Done(t.Context(), m))
		}
	}
	for i := range 10 {
		if n := heard[fmt.Sprint(i)]; n < 4 {
			t.Errorf("the file %d was read %d times", i, n)
		}
	}
}

func TestOnlyWholeFilesAreRead(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir())
	text := testdata(t, "camt054.xml")
	for _, name := range []string{".camt.xml", "camt.xml.tmp", "camt.xml.part", "camt.xml.filepart"} {
		b.brings(name, text)
	}
	b.must(os.Mkdir(filepath.Join(b.folder, "in", "folder"), 0o700))
	b.must(os.Symlink("/etc/passwd", filepath.Join(b.folder, "in", "link.xml")))
	b.must(syscall.Mkfifo(filepath.Join(b.folder, "in", "fifo.xml"), 0o600)) // opening it would never return
	if all := b.receive(); len(all) != 0 || len(b.files("in")) != 7 || len(b.files("refused")) != 0 {
		t.Errorf("took %v", all)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"camt053.xml", "camt054.xml", "pain001.xml"} {
		f.Add(testdata(f, name))
	}
	f.Add(report("BUROIUCZAHQNOZ27D4NQ5OBWBGRDY", `<GrpSts>RJCT</GrpSts>`, ""))
	f.Add(report("BUROIUCZAHQNOZ27D4NQ5OBWBGRDY", "", `<OrgnlPmtInfAndSts>`+status("PO1A1", "RJCT", "AC04")+`</OrgnlPmtInfAndSts>`))
	b := open(f, f.TempDir())
	b.submit(list()...)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := b.Read(text)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, n := range all {
			name := n.MessageID + "\n" + n.EntryID
			if n.MessageID == "" || n.EntryID == "" || names[name] {
				t.Errorf("%q does not name one notice", name)
			}
			names[name] = true
			if n.Kind == rail.Settled && n.Amount >= 0 || (n.Kind == rail.Returned || n.Kind == rail.Deposited) && n.Amount <= 0 {
				t.Errorf("a notice goes the wrong way: %+v", n)
			}
		}
		again, err := b.Read(text)
		if err != nil || !slices.Equal(again, all) {
			t.Errorf("read again, it has other messages: %v, %v, then %v", all, again, err)
		}
	})
}
