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

// accountChoices lists accounts to choose from. Those of the sandbox say so.
func accountChoices(list []api.Account, chosen string) (choices []choice) {
	for _, a := range list {
		text := a.Name
		if a.Mode == api.ModeSandbox {
			text += " (sandbox)"
		}
		choices = append(choices, choice{a.ID, text, a.ID == chosen})
	}
	return choices
}

// accountView is an account as pages show it.
type accountView struct{ api.Account }

// Sandbox says that no real money moves.
func (a accountView) Sandbox() bool { return a.Mode == api.ModeSandbox }

// Available, Reserved, Pending and Total are the balances, for people.
func (a accountView) Available() string { return api.FormatAmount(a.AvailableBalance, a.Currency) }
func (a accountView) Reserved() string  { return api.FormatAmount(a.ReservedBalance, a.Currency) }
func (a accountView) Pending() string   { return api.FormatAmount(a.PendingBalance, a.Currency) }
func (a accountView) Total() string     { return api.FormatAmount(a.TotalBalance, a.Currency) }

// Kind is the style of the badge that shows the status.
func (a accountView) Kind() string {
	switch a.Status {
	case api.AccountActive:
		return "good"
	case api.AccountFrozen:
		return "warn"
	}
	return "muted"
}

// State is the status for people.
func (a accountView) State() string { return capitalized(a.Status) }
