// Package institution knows the institutions that receive payments: their codes and names.
package institution

import (
	_ "embed"
	"strings"
	"sync"
)

// Institution is a bank or a wallet.
type Institution struct {
	Code  string // as SWIFT writes it
	Name  string
	Kind  string
	Rails string // I for InstaPay, P for PESONet
}

//go:embed institutions.tsv
var table string

var all = sync.OnceValue(func() []Institution {
	var list []Institution
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(cells) < 4 || cells[0] == "bic" || len(cells) > 4 && strings.HasPrefix(cells[4], "gone") {
			continue
		}
		list = append(list, Institution{Code: cells[0], Name: cells[1], Kind: cells[2], Rails: cells[3]})
	}
	return list
})

// All returns all institutions that can be paid, in the order of the table.
func All() []Institution { return all() }

// Name returns the name of the institution with a code, "" if there is none.
func Name(code string) string {
	for _, i := range all() {
		if i.Code == code {
			return i.Name
		}
	}
	return ""
}
