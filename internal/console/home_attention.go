package console

import (
	"fmt"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/identity"
	"bursar/internal/payout"
)

// shownAlike is the number of items of one kind that are listed by name. The rest are counted.
const shownAlike = 5

// attentionItem is one line of the list "Needs attention".
type attentionItem struct {
	Subject string // what the line is about
	Text    string // why it needs attention
	Path    string // empty if there is no page
	At      int64  // when it was last used or created; 0 to show no time
	Since   string // label of At, such as "last used"
	Bad     bool   // money is at stake
}

// homeKeys are the API keys and machine clients that the visitor may see.
type homeKeys struct {
	own     []api.APIKey
	clients []api.MachineClient
}

func (c *Console) homeKeys(v *visit) (homeKeys, error) {
	list, err := read(v, c.Identity.APIKeys, identity.KeysInput{})
	keys := homeKeys{own: list.Rows()}
	if err == nil && v.can(access.KeysRead) {
		keys.clients, err = v.clients()
	}
	return keys, err
}

// troubles lists the problems of payouts and rails.
func (c *Console) troubles(v *visit) ([]attentionItem, error) {
	if !v.can(access.PayoutsRead) {
		return nil, nil
	}
	year, month, day := v.localTime().Date()
	t, err := c.Payouts.Troubles(v.R.Context(), v.Caller, v.workspace.ID, time.Date(year, month, day, 0, 0, 0, 0, v.zone).UnixMilli())
	if err != nil {
		return nil, err
	}
	payouts := func(list []api.Payout, text string) (items []attentionItem) {
		for _, p := range list {
			text := text
			switch p.Attention {
			case payout.Contradicted:
				text = "needs you: the bank’s records do not match this payout"
			case payout.Recheck:
				text = "is on hold: a limit or a rule became stricter, or its request or approval came through a compromised API key"
			}
			items = append(items, attentionItem{Bad: true, Subject: api.FormatAmount(p.AmountCents, p.Currency) + " to " + p.SettlementAccount.BankAccountName + inSandbox(p.Mode),
				Text: text, Path: v.path("payouts", p.ID), At: p.UpdatedAt})
		}
		return items
	}
	var items []attentionItem
	if t.Stopped {
		items = append(items, attentionItem{Bad: true, Subject: "Payouts", Text: "are not sent: the store was restored from a backup, and its operator has to resume the rails", Path: v.path("payouts") + "?status=pending"})
	}
	items = append(items, fewAlike(payouts(t.Attention, "needs you: nobody knows whether it was paid"), "payouts need you, too", v.path("payouts")+"?status=processing")...)
	items = append(items, fewAlike(payouts(t.Failed, "failed today"), "payouts failed today, too", v.path("payouts")+"?status=failed")...)
	for _, r := range t.Down {
		items = append(items, attentionItem{Bad: true, Subject: r.Title + inSandbox(api.ModeSandbox), Text: "is down: its payouts wait", Path: v.path("payouts") + "?status=pending&rail=" + r.Name})
	}
	return items, nil
}

// inSandbox marks items that do not involve real money.
func inSandbox(mode string) string {
	if mode == api.ModeSandbox {
		return " (sandbox)"
	}
	return ""
}

// invitations lists the members who have not accepted their invitation.
func invitations(v *visit, members []api.Member) []attentionItem {
	var items []attentionItem
	path := v.path("members") + "?status=invited"
	for _, m := range members {
		if m.Status == "invited" {
			items = append(items, attentionItem{Subject: m.Email, Text: "hasn't accepted the invitation yet", Path: path})
		}
	}
	return fewAlike(items, "haven't accepted their invitations yet", path)
}

// unused lists the keys and clients that have not been used for a long time.
func (k homeKeys) unused(v *visit) []attentionItem {
	now := v.console.endpoints.DB.Now()
	var keys, clients []attentionItem
	for _, key := range k.own {
		if key.ExpiresAt == 0 || key.ExpiresAt > now {
			keys = append(keys, idleKey(now, "Your API key "+key.Name, key.CreatedAt, key.LastUsedAt, v.path("keys"))...)
		}
	}
	for _, client := range k.clients {
		clients = append(clients, idleKey(now, "Machine client "+client.Name, client.CreatedAt, client.LastUsedAt, v.path("keys"))...)
	}
	return append(fewAlike(keys, "of your API keys are unused too", v.path("keys")),
		fewAlike(clients, "machine clients are unused too", v.path("keys"))...)
}

// idleKey returns the line for a credential that has been idle for too long.
func idleKey(now int64, subject string, made, used int64, path string) []attentionItem {
	if !idle(now, made, used) {
		return nil
	}
	unused := time.Duration(now-used) * time.Millisecond
	item := attentionItem{Subject: subject, Text: "hasn't been used for " + roughly(unused), Path: path, At: used, Since: "last used"}
	if used == 0 {
		item.Text, item.At, item.Since = "has never been used", made, "created"
	}
	return []attentionItem{item}
}

// fewAlike keeps the first items and replaces the others by one line that counts
// them.
func fewAlike(items []attentionItem, rest, path string) []attentionItem {
	if len(items) <= shownAlike {
		return items
	}
	more := len(items) - shownAlike
	return append(items[:shownAlike:shownAlike], attentionItem{Subject: fmt.Sprintf("%d more", more), Text: rest, Path: path})
}
