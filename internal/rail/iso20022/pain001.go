package iso20022

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"bursar/internal/accountnumber"
	"bursar/internal/rail"
)

// The elements of a pain.001.001.09 that we write, in the order of its schema.
type (
	initiation struct {
		XMLName xml.Name    `xml:"urn:iso:std:iso:20022:tech:xsd:pain.001.001.09 Document"`
		Header  groupHeader `xml:"CstmrCdtTrfInitn>GrpHdr"`
		Payment paymentInfo `xml:"CstmrCdtTrfInitn>PmtInf"`
	}
	groupHeader struct {
		MsgId   string
		CreDtTm string
		NbOfTxs string
		CtrlSum string
		Name    string `xml:"InitgPty>Nm"`
	}
	paymentInfo struct {
		PmtInfId    string
		PmtMtd      string
		NbOfTxs     string
		CtrlSum     string
		PmtTpInf    *paymentType
		Date        string `xml:"ReqdExctnDt>Dt"`
		Debtor      string `xml:"Dbtr>Nm"`
		Account     string `xml:"DbtrAcct>Id>Othr>Id"`
		Currency    string `xml:"DbtrAcct>Ccy"`
		Agent       agent  `xml:"DbtrAgt>FinInstnId"`
		ChrgBr      string
		CdtTrfTxInf []transfer
	}
	transfer struct {
		InstrId    string `xml:"PmtId>InstrId"`
		EndToEndId string `xml:"PmtId>EndToEndId"`
		Amount     amount `xml:"Amt>InstdAmt"`
		Agent      agent  `xml:"CdtrAgt>FinInstnId"`
		Creditor   string `xml:"Cdtr>Nm"`
		Account    string `xml:"CdtrAcct>Id>Othr>Id"`
		RmtInf     *remittance
	}
	// agent is an institution: by its BIC, or by the code that the rail has for it.
	agent struct {
		BICFI       string `xml:"BICFI,omitempty"`
		ClrSysMmbId *member
	}
	// Optional elements are pointers: an empty element would violate the schema.
	paymentType struct {
		Service string `xml:"LclInstrm>Prtry"`
	}
	remittance struct{ Ustrd string }
	member     struct{ MmbId string }
	amount     struct {
		Ccy   string `xml:"Ccy,attr"`
		Value string `xml:",chardata"`
	}
)

// The greatest text lengths that the schema allows.
const (
	maxName       = 140
	maxAccount    = 34
	maxRemittance = 140
	maxService    = 35
)

// message is a file of payments.
type message struct {
	id   string // letters and digits
	name string // of the file
	text []byte
	list []byte // the content of its list in sent/: one payment per line
}

// stamp returns the beginning of file names, by which they sort by time.
func stamp(at time.Time) string { return at.UTC().Format(stampForm) }

const stampForm = "20060102T150405Z"

// compose returns the file of payments that can be sent. Its content follows from the payments and their submissions, so the same ones
// produce the same file. Its time is the time of the latest payment.
func (c *Connector) compose(r *rail.Rail, list []rail.Payment) (message, error) {
	digest := sha256.New()
	var sum, latest int64
	var noted strings.Builder
	transfers := make([]transfer, len(list))
	for i, p := range list {
		fmt.Fprintln(digest, p.EndToEndID, p.Submission)
		sum += p.Amount
		latest = max(latest, p.Latest())
		noted.WriteString(line(p, p.AccountID, r.Name, p.ExternalHash))
		transfers[i] = transfer{
			InstrId: p.EndToEndID, EndToEndId: p.EndToEndID,
			Amount: amount{p.Currency, rail.Decimal(p.Amount, p.Currency)},
			Agent:  agentOf(r.CodeOf(p.To.Institution)), Creditor: safe(p.To.AccountName, maxName),
			Account: accountnumber.Compact(p.To.AccountNumber),
		}
		if said := safe(p.Description, maxRemittance); said != "" {
			transfers[i].RmtInf = &remittance{said}
		}
	}
	at := time.UnixMilli(latest)
	m := message{id: "BUR" + base32.StdEncoding.EncodeToString(digest.Sum(nil))[:26], list: []byte(noted.String())}
	m.name = stamp(at) + "-" + m.id + ".xml"
	count, total := strconv.Itoa(len(list)), rail.Decimal(sum, r.Currency)
	var kind *paymentType
	if service := safe(c.Services[r.Name], maxService); service != "" {
		kind = &paymentType{service}
	}
	var text bytes.Buffer
	text.WriteString(xml.Header)
	encoder := xml.NewEncoder(&text)
	encoder.Indent("", "  ")
	err := encoder.Encode(initiation{
		Header: groupHeader{MsgId: m.id, CreDtTm: at.UTC().Format(time.RFC3339), NbOfTxs: count, CtrlSum: total, Name: safe(c.DebtorName, maxName)},
		Payment: paymentInfo{
			PmtInfId: m.id, PmtMtd: "TRF", NbOfTxs: count, CtrlSum: total, PmtTpInf: kind,
			Date: at.In(c.zone).Format(time.DateOnly), Debtor: safe(c.DebtorName, maxName), Account: c.DebtorAccount, Currency: r.Currency,
			Agent: agent{BICFI: c.DebtorBank}, ChrgBr: "DEBT", CdtTrfTxInf: transfers,
		},
	})
	text.WriteByte('\n')
	m.text = text.Bytes()
	return m, err
}

func agentOf(code string) agent {
	if bicForm.MatchString(code) {
		return agent{BICFI: code}
	}
	return agent{ClrSysMmbId: &member{code}}
}

// safe returns a text in characters that every bank accepts, at most the given number. It removes accents and replaces other characters by
// dots.
func safe(text string, most int) string {
	var out strings.Builder
	for _, c := range norm.NFKD.String(strings.Join(strings.Fields(text), " ")) {
		switch {
		case unicode.Is(unicode.Mn, c):
			continue
		case c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(" /-?:().,'+", c)):
			out.WriteRune(c)
		default:
			out.WriteByte('.')
		}
	}
	short := out.String()
	return strings.TrimSpace(short[:min(len(short), most)])
}
