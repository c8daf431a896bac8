package console

import (
	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/ledger"
)

// accounts lists the accounts of the workspace, oldest first, if the visitor may see them.
func (v *visit) accounts() ([]api.Account, error) {
	if !v.can(access.AccountsRead) {
		return nil, nil
	}
	list, err := read(v, v.console.Ledger.List, ledger.ListInput{WorkspaceID: &v.workspace.ID})
	return list.Rows(), err
}

func accountsByID(list []api.Account) map[string]api.Account {
	byID := map[string]api.Account{}
	for _, a := range list {
		byID[a.ID] = a
	}
	return byID
}

// accountChoices lists accounts to choose from. Sandbox accounts are marked.
func accountChoices(list []api.Account) (choices []choice) {
	for _, a := range list {
		choices = append(choices, choice{Value: a.ID, Text: a.Name + inSandbox(a.Mode)})
	}
	return choices
}

// accountView is an account, for display.
type accountView struct{ api.Account }

// Sandbox reports whether no real money moves.
func (a accountView) Sandbox() bool { return a.Mode == api.ModeSandbox }

// Available, Reserved, Pending and Total return the balances, for display.
func (a accountView) Available() string { return api.FormatAmount(a.AvailableBalance, a.Currency) }
func (a accountView) Reserved() string  { return api.FormatAmount(a.ReservedBalance, a.Currency) }
func (a accountView) Pending() string   { return api.FormatAmount(a.PendingBalance, a.Currency) }
func (a accountView) Total() string     { return api.FormatAmount(a.TotalBalance, a.Currency) }

// Kind returns the style of the status badge.
func (a accountView) Kind() string {
	switch a.Status {
	case api.AccountActive:
		return "good"
	case api.AccountFrozen:
		return "warn"
	}
	return "muted"
}

// State returns the status in words.
func (a accountView) State() string { return capitalized(a.Status) }

// sourceChoices lists accounts to pay from, with what is available.
func sourceChoices(list []accountView) (choices []choice) {
	for _, a := range list {
		choices = append(choices, choice{Value: a.ID, Text: a.Name + inSandbox(a.Mode) + ": " + a.Available() + " available"})
	}
	return choices
}
