package console

import (
	"bytes"
	"encoding/json"
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
	"bursar/internal/spreadsheet"
	"bursar/internal/web"
)

// manyLine is one payment of many.
type manyLine struct {
	api.PayoutTerms
	cells        map[string]string // as in the file
	Number       int               // in the file
	Payee, Where string
	Money        string // the amount for display, or as typed
	Fault        string // all problems of the line
	Rail         string
	ExpectedAt   int64
	Earlier      string // the existing payout of the line, which is not created again
	State        string // its state in words
}

func (l *manyLine) refuse(text string) { l.Fault = strings.TrimSpace(l.Fault + " " + sentence(text)) }

// parsePayments parses a file of payments. The problems of a line are in the line.
func parsePayments(text, currency string) ([]manyLine, error) {
	read, err := payfile.Read(strings.NewReader(text))
	return manyLines(read, err, currency)
}

// parseUpload parses an uploaded file and names its lines, so that the same file results in the same payouts. Amounts typed for a tag have
// no names, because the same amounts may be paid every month.
func parseUpload(data []byte, source api.Account) ([]manyLine, error) {
	read, err := payfile.ReadNamed(bytes.NewReader(data), source.Mode)
	list, err := manyLines(read, err, source.Currency)
	for i, l := range list {
		if l.cells[payfile.To] != "" && l.ReceivingMethodID != nil {
			list[i].refuse("a line names either a payee or a receiving method, not both")
		}
	}
	return list, err
}

func manyLines(read []payfile.Line, err error, currency string) ([]manyLine, error) {
	if err != nil {
		return nil, fault.Invalid("file", err.Error())
	}
	if len(read) > api.MaxBatch {
		return nil, fault.Invalid("file", fmt.Sprintf("has more than %d payments: split it", api.MaxBatch))
	}
	list := make([]manyLine, len(read))
	for i, one := range read {
		list[i] = newManyLine(one, currency)
	}
	return list, nil
}

func newManyLine(one payfile.Line, currency string) manyLine {
	cell := func(column string) *string { return optional(one.Cells[column]) }
	l := manyLine{Number: one.Number, cells: one.Cells, Payee: one.Cells[payfile.To], Money: one.Cells[payfile.Amount], PayoutTerms: api.PayoutTerms{
		ReceivingMethodID: cell(payfile.MethodID), ExternalID: cell(payfile.ExternalID), Description: cell(payfile.Description), SettlementRail: cell(payfile.Rail),
	}}
	account := api.SettlementAccount{BankAccountName: one.Cells[payfile.AccountName], BankAccountNumber: one.Cells[payfile.AccountNumber], BankCode: one.Cells[payfile.BankCode]}
	l.Where = one.Cells[payfile.MethodID]
	if account != (api.SettlementAccount{}) {
		l.SettlementAccount = &account
		l.Where = strings.TrimSpace(account.BankCode + " " + audit.Mask(account.BankAccountNumber))
		if l.Payee != "" {
			l.refuse("a line names either a payee or an account, not both")
		}
		l.Payee = account.BankAccountName
	}
	if one.Fault != "" {
		l.refuse("the line " + one.Fault)
		return l
	}
	cents, err := api.ParseAmount(strings.TrimSpace(strings.TrimPrefix(l.Money, currency)), currency)
	if err != nil || cents == 0 {
		l.refuse("the amount must be a number such as 1,500.00")
		return l
	}
	l.AmountCents, l.Money = cents, api.FormatAmount(cents, currency)
	return l
}

// linesOf writes payments as a file for parsePayments.
func linesOf(list []manyLine) string {
	var text bytes.Buffer
	out := spreadsheet.NewWriter(&text, ',', false)
	_ = out.Write(payfile.Columns()...)
	for _, l := range list {
		row := make([]string, len(payfile.Columns()))
		for i, column := range payfile.Columns() {
			row[i] = l.cells[column]
		}
		_ = out.Write(row...)
	}
	_ = out.Flush() // a buffer never fails
	return text.String()
}

// findPayees finds the receiving methods of the payees in lines, and stores them in the lines. So what is sent is what was reviewed.
func (v *visit) findPayees(list []manyLine) error {
	known := map[string]api.ReceivingMethod{}
	for i := range list {
		l := &list[i]
		to := l.cells[payfile.To]
		if to == "" || l.ReceivingMethodID != nil || l.SettlementAccount != nil {
			continue
		}
		m, found := known[to]
		if !found {
			var err error
			var why *payeeError
			if m, err = v.findPayee(to); errors.As(err, &why) {
				l.refuse(why.text)
				continue
			} else if err != nil {
				return err
			}
			known[to] = m
		}
		l.cells = maps.Clone(l.cells)
		l.cells[payfile.MethodID] = m.ID
		l.ReceivingMethodID, l.Where = &m.ID, m.Provider+" "+m.AccountID
	}
	return nil
}

// payeeError is the error for a line without a clear payee.
type payeeError struct{ text string }

func (e *payeeError) Error() string { return e.text }

// findPayee finds the default receiving method of PAYEE, or the method of PAYEE/METHOD, like the command line.
func (v *visit) findPayee(to string) (m api.ReceivingMethod, err error) {
	if !v.can(access.DirectoryRead) || !v.can(access.ReceivingRead) {
		return m, &payeeError{"you may not see the receiving methods of payees"}
	}
	name, which := to, ""
	if at := strings.LastIndex(to, "/"); at >= 0 {
		name, which = to[:at], to[at+1:]
	}
	id, err := v.findEntryID(name)
	if err != nil {
		return m, err
	}
	methods, err := read(v, v.console.Directory.ShowMethods, directory.ShowInput{ID: id})
	var no *fault.Fault
	if errors.As(err, &no) && no.Code == api.CodeEntryNotFound {
		return m, &payeeError{"the directory has no entry " + name}
	}
	if err != nil {
		return m, err
	}
	now := v.console.endpoints.DB.Now()
	at := slices.IndexFunc(methods, func(m api.ReceivingMethod) bool {
		named := m.IsDefault
		if which != "" {
			named = m.ID == which || strings.EqualFold(m.Provider, which) || strings.EqualFold(m.AccountName, which)
		}
		return named && m.Status == api.MethodActive && m.PayableAt <= now
	})
	if at < 0 {
		return m, &payeeError{name + " has no such receiving method that can be paid"}
	}
	return methods[at], nil
}

// findEntryID finds the one entry with an id or a label.
func (v *visit) findEntryID(name string) (id string, err error) {
	if strings.HasPrefix(name, "entry_") {
		return name, nil
	}
	page, err := read(v, v.console.Directory.List, directory.ListInput{WorkspaceID: v.workspace.ID, Q: &name, PageParams: web.PageParams{Limit: new("100")}})
	if err != nil {
		return "", err
	}
	var rows []api.EntrySummary
	if err := json.Unmarshal(page.Rows(), &rows); err != nil {
		return "", fmt.Errorf("read the entries with a name: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(e api.EntrySummary) bool { return !strings.EqualFold(e.Label, name) })
	switch len(rows) {
	case 0:
		return "", &payeeError{"the directory has nobody called " + name}
	case 1:
		return rows[0].ID, nil
	}
	return "", &payeeError{fmt.Sprintf("the directory has %d entries called %s: name one by its ID", len(rows), name)}
}
