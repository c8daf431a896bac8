package iso20022

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bursar/internal/accountnumber"
	"bursar/internal/rail"
)

// The elements of a camt.053.001.08 and a camt.054.001.08 that we read.
type (
	accountID struct {
		IBAN  string `xml:"Id>IBAN"`
		Other string `xml:"Id>Othr>Id"`
	}
	entry struct {
		NtryRef      string
		Amt          amount
		CdtDbtInd    string
		RvslInd      string
		Status       string `xml:"Sts>Cd"`
		BookgDt      day
		ValDt        day
		AcctSvcrRef  string
		Family       string    `xml:"BkTxCd>Domn>Fmly>SubFmlyCd"`
		Details      []details `xml:"NtryDtls"`
		AddtlNtryInf string
	}
	day struct {
		Dt   string
		DtTm string
	}
	details struct {
		BatchMessage string        `xml:"Btch>MsgId"`
		BatchPayment string        `xml:"Btch>PmtInfId"`
		Transactions []transaction `xml:"TxDtls"`
	}
	transaction struct {
		batch       string // the message of ours that the bank booked as one sum without details
		submission  int    // the submission in that message
		AcctSvcrRef string `xml:"Refs>AcctSvcrRef"`
		EndToEndId  string `xml:"Refs>EndToEndId"`
		Amt         amount
		Instructed  amount `xml:"AmtDtls>TxAmt>Amt"`
		CdtDbtInd   string
		Family      string    `xml:"BkTxCd>Domn>Fmly>SubFmlyCd"`
		Creditor    accountID `xml:"RltdPties>CdtrAcct"`
		Free        []string  `xml:"RmtInf>Ustrd"`
		References  []string  `xml:"RmtInf>Strd>CdtrRefInf>Ref"`
		Return      *struct {
			Cd       string `xml:"Rsn>Cd"`
			Prtry    string `xml:"Rsn>Prtry"`
			AddtlInf []string
		} `xml:"RtrInf"`
		AddtlTxInf string
	}
)

func (a accountID) number() string { return accountnumber.Compact(strings.TrimSpace(a.IBAN + a.Other)) } // one of the two is set

// statement reads statements or notifications: the movements on our account.
func (d *reader) statement(name string) error {
	return d.inside(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "GrpHdr":
			return d.header(e)
		case name:
			return d.entries()
		}
		return d.skip()
	})
}

func (d *reader) entries() error {
	ours := false
	return d.inside(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "Acct":
			var account accountID
			if err := d.decode(e, &account); err != nil {
				return err
			}
			if ours = account.number() == d.c.DebtorAccount; !ours {
				return errors.New("it is about another account than ours")
			}
			return nil
		case "Ntry":
			if !ours {
				return errors.New("it does not say what account it is about")
			}
			if d.msgID == "" {
				return errors.New("it has no message id")
			}
			var n entry
			if err := d.decode(e, &n); err != nil {
				return err
			}
			return d.entry(n)
		}
		return d.skip()
	})
}

// entry adds the notices of an entry: one for each of its transactions, if they add up to it.
func (d *reader) entry(e entry) error {
	trim(&e.CdtDbtInd, &e.RvslInd, &e.Status, &e.Family)
	references(&e.NtryRef, &e.AcctSvcrRef)
	if e.Status == "INFO" {
		return nil // no money moved or will move
	}
	total, err := value(e.Amt, e.CdtDbtInd)
	if err != nil {
		return err
	}
	var all []transaction
	for _, some := range e.Details {
		all = append(all, some.Transactions...)
	}
	whole := transaction{Amt: e.Amt, CdtDbtInd: e.CdtDbtInd}
	switch {
	case len(all) == 0:
		if paid, err := d.batch(e, total); paid || err != nil {
			return err
		}
		all = []transaction{whole}
	case len(all) == 1:
		all[0].Amt, all[0].CdtDbtInd = e.Amt, e.CdtDbtInd
	default:
		sum := int64(0)
		for i := range all {
			if trim(&all[i].Amt.Value, &all[i].CdtDbtInd); all[i].Amt.Value == "" {
				all[i].Amt = all[i].Instructed
			}
			if all[i].CdtDbtInd == "" {
				all[i].CdtDbtInd = e.CdtDbtInd
			}
			one, err := value(all[i].Amt, all[i].CdtDbtInd)
			if err != nil || all[i].Amt.Ccy != e.Amt.Ccy {
				sum = total + 1
				break
			}
			sum += one
		}
		if sum != total {
			all = []transaction{whole} // never guess: it becomes one sum that matches no payment
		}
	}
	for _, t := range all {
		if err := d.moved(e, t, len(all) == 1); err != nil {
			return err
		}
	}
	return nil
}

// batch adds the notices of all payments of a message that the bank booked as one sum without details. It reports whether the entry is such
// a sum.
func (d *reader) batch(e entry, total int64) (bool, error) {
	for _, some := range e.Details {
		for _, id := range []string{some.BatchMessage, some.BatchPayment} {
			id = strings.TrimSpace(id)
			payments, err := d.ours(id)
			if err != nil {
				return false, err
			}
			sum := int64(0)
			for _, p := range payments {
				if p.currency == e.Amt.Ccy {
					sum += p.amount
				}
			}
			if sum == 0 || -sum != total {
				continue
			}
			for _, p := range payments {
				one := transaction{batch: id, submission: p.submission, EndToEndId: p.id, CdtDbtInd: "DBIT", Amt: amount{p.currency, rail.Decimal(p.amount, p.currency)}}
				if err := d.moved(e, one, len(payments) == 1); err != nil {
					return false, err
				}
			}
			return true, nil
		}
	}
	return false, nil
}

// moved adds the notice of a transaction, which may be the only one in its entry.
func (d *reader) moved(e entry, t transaction, alone bool) error {
	trim(&t.EndToEndId, &t.Family)
	references(&t.AcctSvcrRef)
	sum, err := value(t.Amt, t.CdtDbtInd)
	if err != nil {
		return err
	}
	n := rail.Notice{Kind: rail.Unmatched, Amount: sum, Currency: t.Amt.Ccy, Booked: e.Status == "BOOK", EndToEndID: t.EndToEndId}
	references(&n.EndToEndID)
	n.MessageID, n.EntryID = d.named(e, t, alone, sum)
	n.Movement = movement(e, t, alone)
	n.Outcome.Submission = t.submission
	n.Outcome.Reference = cmp.Or(t.AcctSvcrRef, e.AcctSvcrRef)
	if alone {
		n.Outcome.Reference = cmp.Or(e.AcctSvcrRef, t.AcctSvcrRef)
	}
	said := slices.Concat(t.Free, t.References, []string{t.AddtlTxInf, e.AddtlNtryInf})
	n.Text = strings.Join(strings.Fields(strings.Join(said, " ")), " ")
	cameBack := t.Return != nil || e.RvslInd == "true" || e.RvslInd == "1" || t.Family == "RRTN" || e.Family == "RRTN"
	switch {
	case sum > 0 && cameBack && n.EndToEndID != "":
		n.Kind = rail.Returned
		if t.Return != nil {
			n.Outcome.Code = strings.TrimSpace(t.Return.Cd + t.Return.Prtry) // one of the two is set
			n.Outcome.Text = strings.Join(strings.Fields(strings.Join(t.Return.AddtlInf, " ")), " ")
		}
	case sum < 0 && !cameBack && n.EndToEndID != "":
		n.Kind = rail.Settled
	case sum > 0 && !cameBack:
		if n.AccountID = d.c.depositOf(t); n.AccountID != "" {
			n.Kind = rail.Deposited
		}
	}
	return d.add(n)
}

// movement returns the name of the movement of a transaction. It is made of the bank's reference: for the transaction, for its entry if it
// is the only one there, or for several. Without a reference it names the message that was booked as a sum. A notification may give another
// kind of reference than the statement after it, so the kind is part of the name. References of different kinds may or may not be of one
// movement.
func movement(e entry, t transaction, alone bool) string {
	switch {
	case t.AcctSvcrRef != "":
		return "transaction " + t.AcctSvcrRef
	case e.AcctSvcrRef != "" && alone && t.batch == "":
		return "entry " + e.AcctSvcrRef
	case e.AcctSvcrRef != "":
		return "batch " + e.AcctSvcrRef
	case t.batch != "":
		return "message " + t.batch
	}
	return ""
}

// named returns the names of a notice. With a reference of the bank, an entry has the same name in a notification and in the statement
// after it. So it counts once, even if one of them has fewer details. Without a reference the name is unique within the message. Announced
// and booked entries have different names. If several payments share one reference, the name includes the end-to-end id as written by the
// bank: names must not change.
func (d *reader) named(e entry, t transaction, alone bool, sum int64) (message, name string) {
	ending := "/" + strconv.FormatInt(sum, 10) + "/" + e.Status
	switch {
	case alone && e.AcctSvcrRef != "":
		return d.c.DebtorAccount, e.AcctSvcrRef + ending
	case t.AcctSvcrRef != "" && t.AcctSvcrRef != e.AcctSvcrRef:
		return d.c.DebtorAccount, t.AcctSvcrRef + ending
	case e.AcctSvcrRef != "": // one reference for several payments
		return d.c.DebtorAccount, e.AcctSvcrRef + "/" + t.EndToEndId + ending
	}
	switch {
	case !isNone(t.EndToEndId):
		name = t.EndToEndId
	case e.NtryRef != "":
		name = e.NtryRef
	default:
		digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", e.BookgDt, e.ValDt, t.Free, t.References, t.AddtlTxInf, e.AddtlNtryInf))
		name = hex.EncodeToString(digest[:16])
	}
	return d.msgID, name + ending
}

// value reads an amount. It is negative if money left.
func value(a amount, direction string) (int64, error) {
	sum, err := rail.ParseDecimal(strings.TrimSpace(a.Value), a.Ccy)
	switch {
	case err != nil:
		return 0, fmt.Errorf("an entry has the amount %.40q: %w", a.Value, err)
	case !currencyForm.MatchString(a.Ccy):
		return 0, fmt.Errorf("an entry has the currency %.40q", a.Ccy)
	case strings.TrimSpace(direction) == "DBIT":
		return -sum, nil
	case strings.TrimSpace(direction) == "CRDT":
		return sum, nil
	}
	return 0, fmt.Errorf("an entry is neither a credit nor a debit but %.40q", direction)
}

var (
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
	// accountNamed finds the id of an account as people and banks write it, who change its case and drop its underscore.
	accountNamed = regexp.MustCompile(`(?i)\bacc[_ -]?([0-9a-hjkmnp-tv-z]{26})\b`)
)

// depositOf returns the account that a credit is for, "" if the credit names none or several.
func (c *Connector) depositOf(t transaction) string {
	if account := c.Deposits[t.Creditor.number()]; account != "" {
		return account
	}
	found := ""
	for _, text := range slices.Concat(t.Free, t.References, []string{t.EndToEndId}) {
		for _, match := range accountNamed.FindAllStringSubmatch(text, -1) {
			account := "acc_" + strings.ToLower(match[1])
			if found != "" && found != account {
				return ""
			}
			found = account
		}
	}
	return found
}
