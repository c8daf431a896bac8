// Package institution contains the institutions that receive payments: their codes and names.
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
	// Other is the code of the same institution on other rails, if it differs there.
	Other string
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
		if len(cells) > 4 {
			if other, ok := strings.CutPrefix(cells[4], "second code "); ok {
				list[len(list)-1].Other, _, _ = strings.Cut(other, " ")
			}
		}
	}
	for _, first := range list {
		for n, second := range list {
			if second.Code == first.Other {
				list[n].Other = first.Code
			}
		}
	}
	return list
})

// All returns all institutions that can be paid, in the order of the table.
func All() []Institution { return all() }

// Named returns the institution with a code; one without a code if there is none.
func Named(code string) Institution {
	for _, i := range all() {
		if i.Code == code {
			return i
		}
	}
	return Institution{}
}

// Name returns the name of the institution with a code, "" if there is none.
func Name(code string) string { return Named(code).Name }

// On returns the code of the institution with a code on the rail of a letter, "" if that rail does not reach it.
func On(code, rail string) string {
	i := Named(code)
	switch {
	case i.Code == "" || rail == "":
		return ""
	case strings.Contains(i.Rails, rail):
		return i.Code
	case strings.Contains(Named(i.Other).Rails, rail):
		return i.Other
	}
	return ""
}
