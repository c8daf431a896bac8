package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/payout/payfile"
)

// Line is a payout of a file.
type Line struct {
	api.PayoutTerms
	Number int
	To     string // the payee as named in the file
	Where  string // the account that is paid, with a masked number
	Amount string // for display, or as typed if it cannot be read
	Fault  string // everything that is wrong with it, without what depends on money, limits and rules
}

func (l *Line) refuse(format string, args ...any) {
	if l.Fault != "" {
		l.Fault += "; "
	}
	l.Fault += fmt.Sprintf(format, args...)
}

// fault returns why a line cannot be paid, or nil.
func (l *Line) fault() error {
	if l.Fault == "" {
		return nil
	}
	return fault.New(api.CodeValidation, "%s", l.Fault)
}

// newLines converts the lines of a file. held are the permissions of the caller, who may not be allowed to find payees by their names.
func (s *Service) newLines(ctx context.Context, f payFile, read []payfile.Line, held access.Set) ([]Line, error) {
	lines := make([]Line, len(read))
	names := map[string][]*Line{} // lines whose payee is named, by entry
	first := map[string]int{}     // the first line with an external id
	for i, one := range read {
		lines[i] = newLine(one, f.account.Currency, f.account.Name)
		l := &lines[i]
		read[i].Cells = nil // a large file has many
		if id := *l.ExternalID; first[id] == 0 {
			first[id] = l.Number
		} else {
			l.refuse("line %d has the same external_id", first[id])
		}
		if one.Fault != "" || l.ReceivingMethodID != nil || l.SettlementAccount != nil || l.To == "" {
			continue
		}
		if !held.Has(access.DirectoryRead) || !held.Has(access.ReceivingRead) {
			l.refuse("you may not see the receiving methods of payees: give a receiving_method_id or an account")
			continue
		}
		name, _ := splitPayee(l.To)
		names[name] = append(names[name], l)
	}
	if len(names) == 0 {
		return lines, nil
	}
	found, err := s.directory.FindPayees(ctx, f.by, f.account.WorkspaceID, slices.Collect(maps.Keys(names)))
	for name, payee := range found {
		for _, l := range names[name] {
			l.pay(name, payee)
		}
	}
	return lines, err
}

// newLine converts a line, which names a payee, a receiving method or an account.
func newLine(read payfile.Line, currency, from string) Line {
	cell := func(column string) *string {
		if text := read.Cells[column]; text != "" {
			return &text
		}
		return nil
	}
	l := Line{Number: read.Number, To: read.Cells[payfile.To], Amount: read.Cells[payfile.Amount], PayoutTerms: api.PayoutTerms{
		ReceivingMethodID: cell(payfile.MethodID), ExternalID: cell(payfile.ExternalID), Description: cell(payfile.Description),
		SettlementRail: cell(payfile.Rail)}}
	if read.Fault != "" {
		l.refuse("the line %s", read.Fault)
		return l
	}
	account := api.SettlementAccount{BankAccountName: read.Cells[payfile.AccountName], BankAccountNumber: read.Cells[payfile.AccountNumber],
		BankCode: read.Cells[payfile.BankCode]}
	given := 0
	for _, one := range []bool{l.To != "", l.ReceivingMethodID != nil, account != (api.SettlementAccount{})} {
		if one {
			given++
		}
	}
	switch {
	case given == 0:
		l.refuse("no payee: name one in to, or give a receiving_method_id or an account")
	case given > 1:
		l.refuse("a line names either a payee, a receiving method or an account, not several")
	}
	if l.ReceivingMethodID != nil {
		l.Where = *l.ReceivingMethodID
	}
	if account != (api.SettlementAccount{}) {
		l.To = cmp.Or(l.To, account.BankAccountName)
		l.SettlementAccount, l.Where = &account, strings.TrimSpace(account.BankCode+" "+audit.Mask(account.BankAccountNumber))
	}
	l.ReadAmount(currency, from)
	l.checkTexts()
	return l
}

// ReadAmount reads the typed amount, in the currency of an account.
func (l *Line) ReadAmount(currency, from string) {
	number, of := api.SplitAmount(l.Amount)
	if of != "" && of != currency {
		l.refuse("%s is in %s, not in %s", from, currency, of)
		return
	}
	cents, err := api.ParseAmount(number, currency)
	switch {
	case err != nil:
		l.refuse("the amount %q %s, such as 1500, 1,500.00 or %s 1,500.00", l.Amount, err, currency)
	case cents == 0 || cents > api.MaxAmount:
		l.refuse("the amount must be more than 0 and at most %s", api.FormatAmount(api.MaxAmount, currency))
	default:
		l.AmountCents, l.Amount = cents, api.FormatAmount(cents, currency)
	}
}

// columns are the names in a file of fields of a request.
var columns = strings.NewReplacer(
	"settlement_account.bank_account_name", payfile.AccountName, "settlement_account.bank_account_number", payfile.AccountNumber,
	"settlement_account.bank_code", payfile.BankCode, "settlement_rail", payfile.Rail)

// checkTexts applies the rules of a request.
func (l *Line) checkTexts() {
	if a := l.SettlementAccount; a != nil && (a.BankCode == "" || a.BankAccountNumber == "" || a.BankAccountName == "") {
		l.refuse("an account takes a bank_code, an account_number and an account_name")
		return
	}
	var v fault.Violations
	checkTexts(&v, "", l.PayoutTerms)
	checkDestination(&v, "", l.ReceivingMethodID, l.SettlementAccount)
	var f *fault.Fault
	if errors.As(v.Err(), &f) {
		l.refuse("%s", columns.Replace(f.Message))
	}
}

// splitPayee divides PAYEE or PAYEE/METHOD.
func splitPayee(to string) (payee, method string) {
	if at := strings.LastIndex(to, "/"); at >= 0 {
		return to[:at], to[at+1:]
	}
	return to, ""
}

// pay sets the receiving method of a payee that was searched by name: the default, or the one that is named by id, provider or account
// name.
func (l *Line) pay(name string, payee *directory.NamedPayee) {
	switch payee.Entries {
	case 0:
		l.refuse("the directory has no entry called %q", name)
		return
	case 1:
	default:
		l.refuse("the directory has %d entries called %q: name one by its id", payee.Entries, name)
		return
	}
	_, which := splitPayee(l.To)
	var named []api.ReceivingMethod
	for _, m := range payee.Methods {
		called := m.ID == which || strings.EqualFold(m.Provider, which) || strings.EqualFold(m.AccountName, which)
		if which == "" && m.IsDefault || which != "" && called {
			named = append(named, m)
		}
	}
	switch {
	case len(named) == 1:
		l.ReceivingMethodID, l.Where = &named[0].ID, named[0].Provider+" "+named[0].AccountID
	case len(named) > 1:
		l.refuse("%s has %d receiving methods called %q: name one by its id", name, len(named), which)
	case which != "":
		l.refuse("%s has no receiving method %q that can be paid", name, which)
	default:
		l.refuse("%s has no receiving method that can be paid", name)
	}
}
