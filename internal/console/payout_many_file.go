package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/payout"
	"bursar/internal/web"
)

// uploadMany reads a file of payments and shows the dry-run result of each.
func (c *Console) uploadMany(v *visit) error {
	f, err := v.manyForm()
	if err != nil {
		return err
	}
	v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxForm)
	lines, err := v.readPayments(&f)
	if err != nil {
		return v.manyAgain(err, f)
	}
	f.review(lines)
	return v.reviewMany(f, problems{})
}

// readPayments reads the form with the file.
func (v *visit) readPayments(f *manyForm) ([]payout.Line, error) {
	missing := fault.Invalid("file", "is missing or too large: it has at most 512 KB")
	if err := v.R.ParseMultipartForm(maxForm); err != nil {
		return nil, missing
	}
	values := v.R.MultipartForm.Value
	makeStorable(values)
	f.Account, f.Description = strings.TrimSpace(first(values["account"])), strings.TrimSpace(first(values["description"]))
	files := v.R.MultipartForm.File["file"]
	if len(files) == 0 || files[0].Size == 0 || files[0].Size > maxManyFile {
		return nil, missing
	}
	file, err := files[0].Open()
	if err != nil {
		return nil, fmt.Errorf("open the file of payments: %w", err)
	}
	defer file.Close()
	body := web.NewUpload(v.Exchange, file, maxManyFile, func([]byte) (db.Caller, error) { return v.Caller, nil })
	lines, err := read(v, func(ctx context.Context, by db.Caller, in payout.FileInput) ([]payout.Line, error) {
		return v.console.Payouts.ReadFile(ctx, by, in, body)
	}, payout.FileInput{SourceAccountID: f.Account, Currency: f.Source().Currency})
	if p, _, _ := formProblems(err); p.Fields["body"] != "" {
		return nil, fault.Invalid("file", p.Fields["body"])
	}
	if err == nil && len(lines) > api.MaxBatch {
		err = fault.Invalid("file", fmt.Sprintf("has more than %d payments: split it, or use the command line", api.MaxBatch))
	}
	return lines, err
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// payeesOf lists the active payees of a tag, with their default receiving methods.
func (v *visit) payeesOf(tag string) (list []manyPayee, err error) {
	in := directory.ListInput{WorkspaceID: v.workspace.ID, Tag: &tag, Status: new(api.StatusActive), Sort: new("label"), PageParams: web.PageParams{Limit: new("100")}}
	for len(list) < api.MaxBatch {
		page, err := read(v, v.console.Directory.List, in)
		if err != nil {
			return nil, err
		}
		var rows []api.EntrySummary
		if err := json.Unmarshal(page.Rows(), &rows); err != nil {
			return nil, fmt.Errorf("read the payees of a tag: %w", err)
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		found, err := v.console.Directory.FindPayees(v.R.Context(), v.Caller, v.workspace.ID, ids)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			one := manyPayee{ID: row.ID, Label: row.Label}
			for _, m := range found[row.ID].Methods {
				if m.IsDefault || one.Method == "" {
					one.Method, one.Where = m.ID, m.Provider+" "+m.AccountID
				}
			}
			list = append(list, one)
		}
		cursor, more := page.Next()
		if !more {
			break
		}
		in.Cursor = &cursor
	}
	return list[:min(len(list), api.MaxBatch)], nil
}

// typedLines returns the typed amounts for the payees of a tag. They have no external ids, because the same amounts may be paid every month.
func (v *visit) typedLines(from api.Account) (list []payout.Line) {
	methods, amounts, labels := v.form["method"], v.form["amount"], v.form["payee"]
	for i := range min(len(methods), len(amounts), len(labels)) {
		if amount := strings.TrimSpace(amounts[i]); amount != "" {
			l := payout.Line{To: labels[i], Where: methods[i], Amount: amount}
			l.ReceivingMethodID = &methods[i]
			l.ReadAmount(from.Currency, from.Name)
			list = append(list, l)
		}
	}
	return list
}
