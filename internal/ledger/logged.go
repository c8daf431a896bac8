package ledger

import (
	"fmt"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// subject is something that the audit log has rows about.
type subject struct{ workspaceID, id string }

// loggedRows returns the rows of the audit log about subjects, oldest first, by their ids. Refused requests are left out.
func loggedRows(q db.Q, subjects []subject) (map[string][]api.AuditEntry, error) {
	rows := map[string][]api.AuditEntry{}
	if len(subjects) == 0 {
		return rows, nil
	}
	keys, wanted := make([]any, len(subjects)), make(map[string]bool, len(subjects))
	for n, s := range subjects {
		keys[n], wanted[s.id] = audit.FilterKey(audit.ByResource, s.workspaceID, s.id), true
	}
	list := db.NewStatement(`SELECT entry, personal FROM audit_log WHERE resource_id_key`)
	list.AddList(` IN (`, keys)
	list.Add(` ORDER BY id`)
	err := q.EachOf(list, func(r db.Rows) error {
		row, err := audit.ReadStored("", r.Raw(0), r.Raw(1), 0)
		if err == nil && wanted[row.ResourceID] && row.Outcome != string(audit.Denied) {
			rows[row.ResourceID] = append(rows[row.ResourceID], row)
		}
		return err
	})
	return rows, err
}

// loggedValue returns the last value that some rows have set a field to. It is not known if no row did, or if the values were erased.
func loggedValue(rows []api.AuditEntry, field string) (value string, known bool) {
	for _, row := range rows {
		for _, change := range row.Changes {
			if after := text(change.After); change.Field == field && after != "null" {
				value, known = after, true
			}
		}
	}
	return value, known
}

// text returns a value of an audit row without its quotes.
func text(value []byte) string {
	if text, err := strconv.Unquote(string(value)); err == nil {
		return text
	}
	return string(value)
}

// logged counts the rows of some actions.
func logged(rows []api.AuditEntry, actions ...audit.Action) (n int) {
	for _, row := range rows {
		if slices.Contains(actions, audit.Action(row.Action)) {
			n++
		}
	}
	return n
}

// contradicts returns how the audit log contradicts a movement of money, "" if it does not.
func contradicts(rows []api.AuditEntry, what string, amount int64, account, accountField string, actions ...audit.Action) string {
	if logged(rows, actions...) == 0 {
		return "the audit log has no row of " + what
	}
	if value, known := loggedValue(rows, "amount_cents"); known && value != strconv.FormatInt(amount, 10) {
		return fmt.Sprintf("%s is for %d, but the audit log says %s", what, amount, value)
	}
	if value, known := loggedValue(rows, accountField); known && value != account {
		return fmt.Sprintf("%s is of account %s, but the audit log says %s", what, account, value)
	}
	return ""
}

// checkLogged compares deposits and transfers among authenticated transactions with their rows in ledger_deposit and in the audit log. It
// also checks that the store has the payouts for which money was reserved.
func checkLogged(q db.Q, list []transaction, parts map[string][]posting) (found []Mismatch, err error) {
	var subjects []subject
	var deposits, payouts []any
	for _, t := range list {
		switch Kind(t.kind) {
		case KindDeposit, KindAnnounce, KindBook:
			deposits = append(deposits, t.reference)
		case KindTransfer:
		case KindReserve:
			payouts = append(payouts, t.reference)
			continue
		default:
			continue
		}
		subjects = append(subjects, subject{t.workspaceID, t.reference})
	}
	rows, err := loggedRows(q, subjects)
	if err != nil {
		return nil, err
	}
	there, err := storedPayouts(q, payouts)
	if err != nil {
		return nil, err
	}
	type deposit struct {
		account string
		amount  int64
	}
	stored := map[string]deposit{}
	if len(deposits) > 0 {
		query := db.NewStatement(`SELECT id, account_id, amount FROM ledger_deposit WHERE id`)
		query.AddList(` IN (`, deposits)
		err = q.EachOf(query, func(r db.Rows) error {
			stored[r.Text(0)] = deposit{r.Text(1), r.Int(2)}
			return nil
		})
	}
	for _, t := range list {
		amount, account := int64(0), ""
		for _, p := range parts[t.id] {
			if p.amount > 0 {
				amount, account = p.amount, p.account
			}
		}
		why := ""
		switch Kind(t.kind) {
		case KindDeposit, KindAnnounce, KindBook:
			if d := stored[t.reference]; d.amount != amount || d.account != account {
				why = fmt.Sprintf("it moves %d to %s, but the deposit %s is of %d to %q", amount, account, t.reference, d.amount, d.account)
			} else {
				why = contradicts(rows[t.reference], "the deposit "+t.reference, amount, account, "account_id", audit.DepositAnnounced, audit.DepositBooked)
			}
		case KindTransfer:
			why = contradicts(rows[t.reference], "the transfer "+t.reference, amount, account, "destination_account_id", audit.TransferCreated)
		case KindReserve:
			if !there[t.reference] {
				why = "it reserves money for the payout " + t.reference + ", which the store does not have"
			}
		}
		if why != "" {
			found = append(found, Mismatch{TransactionID: t.id, AccountID: account, Problem: why})
		}
	}
	return found, err
}

// storedPayouts returns which of some payouts are in the store.
func storedPayouts(q db.Q, ids []any) (map[string]bool, error) {
	there := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return there, nil
	}
	list := db.NewStatement(`SELECT id FROM payout WHERE id`)
	list.AddList(` IN (`, ids)
	err := q.EachOf(list, func(r db.Rows) error {
		there[r.Text(0)] = true
		return nil
	})
	return there, err
}

// causes returns the actions of the audit log that explain the transactions of a payout, by their kinds.
func causes() map[Kind][]audit.Action {
	return map[Kind][]audit.Action{
		KindReserve:  {audit.PayoutCreated, audit.PayoutPublished, audit.PayoutApproved, audit.PayoutRetried, audit.PayoutResolved, audit.PayoutAcknowledged},
		KindRelease:  {audit.PayoutFailed, audit.PayoutCancelled, audit.PayoutResolved, audit.PayoutRecheckRejected, audit.PayoutRecheckWithdrawn, audit.PayoutRecheckExpired},
		KindComplete: {audit.PayoutCompleted, audit.PayoutResolved},
		KindReopen:   {audit.PayoutResolved},
		KindSettle:   {audit.PayoutSettled},
		KindReturn:   {audit.PayoutReversed},
	}
}

// ends counts the rows by which a payout ended without being paid, so that its money was released. A resolution counts only if the payout
// was not completed before.
func ends(rows []api.AuditEntry) (n int) {
	released := func(c api.AuditChange) bool {
		return c.Field == "status" && text(c.Before) != api.PayoutCompleted && text(c.After) == api.PayoutFailed
	}
	for _, row := range rows {
		action := audit.Action(row.Action)
		if slices.Contains(causes()[KindRelease], action) && (action != audit.PayoutResolved || slices.ContainsFunc(row.Changes, released)) {
			n++
		}
	}
	return n
}

// checkLogged compares a payout with its rows in the audit log.
func (p *booked) checkLogged(rows []api.AuditEntry) (found []Mismatch) {
	for _, kind := range []Kind{KindReserve, KindRelease, KindComplete, KindReopen, KindSettle, KindReturn} {
		if n := logged(rows, causes()[kind]...); n < p.authenticated[kind] {
			found = append(found, p.mismatch("its transactions include %d × %s, but the audit log explains %d", p.authenticated[kind], kind, n))
		}
	}
	open := p.counts[KindReserve] - p.counts[KindComplete] - p.counts[KindRelease]
	if n := ends(rows); open > 0 && p.counts[KindRelease] < n {
		found = append(found, p.mismatch("its money is reserved, but the audit log says %d × that this ended, and the ledger %d × release", n, p.counts[KindRelease]))
	}
	if value, known := loggedValue(rows, "amount_cents"); known && value != strconv.FormatInt(p.amount, 10) {
		found = append(found, p.mismatch("it is for %d, but the audit log says %s", p.amount, value))
	}
	return found
}
