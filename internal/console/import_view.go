package console

import (
	"cmp"
	"fmt"
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

// columnMeanings are the properties of an entry that a column can have.
func columnMeanings() []choice {
	return options(
		"", "Leave this column out",
		"name", "Name",
		"type", "Type: person or organization",
		"external_id", "ID in another system",
		"tags", "Tags, separated by |",
		"status", "Status: active or inactive",
		"label", "Label in lists",
		"fields.first-name", "First name",
		"fields.last-name", "Last name",
		"fields.email", "Email",
		"fields.phone", "Phone",
		"fields.industry", "Industry",
		"method.provider", "Bank or wallet",
		"method.account_name", "Account name",
		"method.account_id", "Account number",
		"id", "Bursar's own ID (entry_…)",
	)
}

// meanings returns the possible meanings of a column: a property of an entry, a field of its own, or nothing.
func meanings(header, chosen string) []choice {
	own := "fields." + header
	list, found := choose(append(columnMeanings(), choice{Value: own, Text: meaning(own)}), chosen)
	if !found {
		list = append(list, choice{Value: chosen, Text: meaning(chosen), Chosen: true})
	}
	return list
}

// meaning returns the meaning of a column in words.
func meaning(target string) string {
	for _, one := range columnMeanings() {
		if one.Value == target {
			return one.Text
		}
	}
	if key, ok := strings.CutPrefix(target, "fields."); ok {
		return fmt.Sprintf("Custom field “%s”", key)
	}
	if key, ok := strings.CutPrefix(target, "json."); ok {
		return fmt.Sprintf("Custom field “%s”, as JSON", key)
	}
	if target == "receiving_methods" {
		return "Receiving methods"
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
