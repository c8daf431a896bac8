package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
)

// importView is an import on its page.
type importView struct {
	api.Import
	Columns []importColumn
}

// importColumn is a column of a held file, and its possible meanings.
type importColumn struct {
	Header string
	Sample string // its first value
	Means  []choice
}

// newImportColumns returns the columns of a CSV file with what they mean.
func newImportColumns(i api.Import, mapping map[string]string) (list []importColumn) {
	if i.Format != "csv" {
		return nil
	}
	for at, header := range i.Preview.Columns {
		name := strings.TrimSpace(header)
		if name == "" {
			continue
		}
		column := importColumn{Header: name, Means: meanings(name, mapping[name])}
		for _, row := range i.Preview.Rows {
			if at < len(row) && column.Sample == "" {
				column.Sample = row[at]
			}
		}
		list = append(list, column)
	}
	return list
}

// meanings returns the possible meanings of a column: a property of an entry, a field of its own, or nothing.
func meanings(header, chosen string) (out []choice) {
	targets := []string{"", "name", "type", "external_id", "tags", "status", "label", "fields.first-name", "fields.last-name", "fields.email", "fields.phone",
		"fields.industry", "method.provider", "method.account_name", "method.account_id", "id", "fields." + header}
	if !slices.Contains(targets, chosen) {
		targets = append(targets, chosen)
	}
	for _, target := range targets {
		out = append(out, choice{Value: target, Text: meaning(target), Chosen: target == chosen})
	}
	return out
}

// meaning returns the meaning of a column in words.
func meaning(target string) string {
	switch target {
	case "":
		return "Leave this column out"
	case "name":
		return "Name"
	case "type":
		return "Type: person or organization"
	case "external_id":
		return "ID in another system"
	case "tags":
		return "Tags, separated by |"
	case "status":
		return "Status: active or inactive"
	case "label":
		return "Label in lists"
	case "fields.first-name":
		return "First name"
	case "fields.last-name":
		return "Last name"
	case "fields.email":
		return "Email"
	case "fields.phone":
		return "Phone"
	case "fields.industry":
		return "Industry"
	case "method.provider":
		return "Bank or wallet"
	case "method.account_name":
		return "Account name"
	case "method.account_id":
		return "Account number"
	case "receiving_methods":
		return "Receiving methods"
	case "id":
		return "Bursar's own ID (entry_…)"
	}
	if key, ok := strings.CutPrefix(target, "fields."); ok {
		return fmt.Sprintf("Custom field “%s”", key)
	}
	if key, ok := strings.CutPrefix(target, "json."); ok {
		return fmt.Sprintf("Custom field “%s”, as JSON", key)
	}
	return target
}

// Title returns the title of the page.
func (i importView) Title() string { return cmp.Or(i.Name, "Import") }

// Working reports whether the server is processing the import, or will.
func (i importView) Working() bool {
	return i.Status == api.ImportQueued || i.Status == api.ImportRunning
}

// Held reports whether the file waits to be started.
func (i importView) Held() bool { return i.Status == api.ImportHeld }

// Percent returns how much of the file is processed.
func (i importView) Percent() int64 { return min(100, i.Position*100/max(1, i.Bytes)) }

// Size returns the size of the file in words.
func (i importView) Size() string { return sizeText(i.Bytes) }

// State returns the status in words.
func (i importView) State() string {
	switch {
	case i.Rehearsed():
		return "Rehearsed"
	case i.Held():
		return "Not started"
	case i.Working() && i.DryRun:
		return "Rehearsing"
	case i.DryRun && i.Status == api.ImportCompleted:
		return "Rehearsed"
	case i.Status == api.ImportQueued:
		return "Waiting"
	case i.Status == api.ImportRunning:
		return "Running"
	}
	return capitalized(i.Status)
}

// Kind returns the color of the status.
func (i importView) Kind() string {
	switch i.Status {
	case api.ImportCompleted:
		return "good"
	case api.ImportFailed:
		return "bad"
	case api.ImportCancelled:
		return "muted"
	}
	return "warn"
}

// Why returns the reason of its end as a sentence.
func (i importView) Why() string { return sentence(i.Reason) }

func sizeText(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
