package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/ledger"
	"bursar/internal/payout"
	"bursar/internal/payout/control"
	"bursar/internal/payout/dispatch"
	"bursar/internal/web"
)

// office is who works with the money of a bank: admins, who make payouts, approve those of others and
// move money between accounts.
type office struct {
	*bank
	people    []string
	accounts  []ledger.Account // at 0 the one whose payouts take no approval, at 1 one, at 2 two
	payouts   *payout.Service
	approvals *approval.Service
	books     *ledger.Service
	serial    int
}

// openOffice lets people into the workspace of a bank, and waits until all of them count as approvers.
func openOffice(b *bank) *office {
	b.t.Helper()
	o := &office{bank: b, people: []string{"usr_a", "usr_b", "usr_c", "usr_d"}, accounts: []ledger.Account{b.account, b.newAccount(200_000), b.newAccount(200_000)}}
	b.write(func(tx *db.Tx) error {
		for _, id := range o.people {
			if err := tx.Exec(`INSERT INTO account (id, kind, email, name, status, email_proof, created_at) VALUES ($1, 'person', $1, $1, 'active', '*', 0)`, id); err != nil {
				return err
			}
			if err := access.Join(tx, "ws_1", id, "admin"); err != nil {
				return err
			}
		}
		return nil
	})
	b.clock.advance(25 * time.Hour)
	rules := o.serve()
	for _, approvals := range []int64{0, 2} {
		made, err := rules.CreateRule(context.Background(), o.caller("usr_a"), control.RuleInput{ApprovalRuleCreate: api.ApprovalRuleCreate{
			WorkspaceID: new("ws_1"), AccountID: &o.accounts[approvals].ID, Approvals: &approvals}})
		if err == nil && made.Value.ApprovalID != "" { // less than without rules takes another person
			err = o.approveIt("usr_b", made.Value.ApprovalID)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return o
}

// serve makes the services, as a node that starts does.
func (o *office) serve() *control.Service {
	b := o.bank
	authority, cursors := access.NewAuthority(b.db), web.NewCursors(nil)
	o.approvals = approval.New(b.db, b.vault, authority, cursors, nil, nil, "")
	rules := control.New(b.db, b.vault, authority, cursors, o.approvals, b.rails, control.Screening{})
	o.payouts = payout.New(b.db, b.vault, authority, cursors, o.approvals, directory.New(b.db, b.vault, authority, cursors, o.approvals), b.rails, rules, func() {})
	o.books = ledger.New(b.db, b.vault, authority, cursors, o.approvals, ledger.Config{Currencies: []string{"PHP"}, Guard: rules.GuardTransfer})
	return rules
}

// dispatch makes a dispatcher that applies rules from now on.
func (o *office) dispatch(rules *control.Service) {
	o.Dispatcher = dispatch.New(o.db, o.vault, o.rails, rules, o.approvals, slog.New(slog.NewTextHandler(o.log, nil)))
}

// second is a second node on the same store.
func (o *office) second() *office {
	other := *o
	other.serve()
	return &other
}

// caller is one of the people, who has just signed in.
func (o *office) caller(id string) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.User, ID: id, Name: id, LoggedInAt: o.db.Now()}}
}

// terms pay an amount to an account number that no one was paid at before and that ends in four digits.
func (o *office) terms(end string, cents int64) api.PayoutTerms {
	o.serial++
	return api.PayoutTerms{AmountCents: cents, SettlementAccount: &api.SettlementAccount{
		BankAccountName: "Ada Lovelace", BankAccountNumber: fmt.Sprintf("%06d%s", o.serial, end), BankCode: bpi}}
}

// create asks for a payout from an account.
func (o *office) create(who string, account int, terms api.PayoutTerms) (api.Payout, error) {
	made, err := o.payouts.Create(context.Background(), o.caller(who), payout.CreateInput{PayoutCreate: api.PayoutCreate{
		SourceAccountID: o.accounts[account].ID, Currency: "PHP", PayoutTerms: terms}})
	return made.Value, err
}

// pay makes a payout and returns its id.
func (o *office) pay(who string, account int) string {
	o.t.Helper()
	p, err := o.create(who, account, o.terms("0001", amount))
	if err != nil {
		o.t.Fatal(err)
	}
	return p.ID
}

// batch asks for payouts of these amounts together.
func (o *office) batch(who string, account int, atomic bool, amounts ...int64) (api.PayoutBatch, error) {
	in := api.PayoutBatchCreate{SourceAccountID: o.accounts[account].ID, Currency: "PHP", Atomic: atomic}
	for _, cents := range amounts {
		in.Payouts = append(in.Payouts, o.terms("0001", cents))
	}
	made, err := o.payouts.Batch(context.Background(), o.caller(who), payout.BatchInput{PayoutBatchCreate: in})
	return made.Value, err
}

// approve approves what someone has looked at just before.
func (o *office) approve(who, id string) error {
	o.t.Helper()
	_, err := o.payouts.Approve(context.Background(), o.caller(who), payout.ApproveInput{ID: id, PayoutApprove: api.PayoutApprove{
		Digest: o.digest(o.payout(id).ApprovalID), Verification: "Compared with the invoice."}})
	return err
}

// approveIt approves an approval by its own id, whatever it is for.
func (o *office) approveIt(who, approvalID string) error {
	o.t.Helper()
	_, err := o.approvals.Approve(context.Background(), o.caller(who), approval.ApproveInput{ID: approvalID, ApprovalApprove: api.ApprovalApprove{
		Digest: o.digest(approvalID), Verification: "Compared with the invoice."}})
	return err
}

func (o *office) digest(approvalID string) (digest string) {
	o.t.Helper()
	o.read(func(q db.Q) error {
		_, err := q.Row(`SELECT digest FROM approval WHERE id = $1`, approvalID).Scan(&digest)
		return err
	})
	return digest
}

func (o *office) reject(who, id string) error {
	_, err := o.payouts.Reject(context.Background(), o.caller(who), payout.RejectInput{ID: id, PayoutReject: api.PayoutReject{Reason: "no"}})
	return err
}

func (o *office) transfer(who string, from, to int, cents int64) error {
	_, err := o.books.Transfer(context.Background(), o.caller(who), ledger.TransferInput{TransferCreate: api.TransferCreate{
		SourceAccountID: o.accounts[from].ID, DestinationAccountID: o.accounts[to].ID, Amount: cents}})
	return err
}

// announce says that money is about to come into an account, and returns the reference by which it is booked.
func (o *office) announce(account int, cents int64) (reference string) {
	o.t.Helper()
	o.serial++
	reference = fmt.Sprint("ref-", o.serial)
	o.deposit(account, cents, reference, false)
	return reference
}

func (o *office) deposit(account int, cents int64, reference string, booked bool) {
	o.t.Helper()
	o.write(func(tx *db.Tx) error {
		_, event, err := ledger.Deposit(tx, o.accounts[account], cents, api.DepositFromBank, reference, booked)
		o.events = append(o.events, event)
		return err
	})
}

// now reads an account.
func (o *office) now(account int) (a ledger.Account) {
	o.t.Helper()
	o.read(func(q db.Q) (err error) {
		a, err = ledger.FindAccount(q, o.accounts[account].ID)
		return err
	})
	return a
}
