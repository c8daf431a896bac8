package payout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/vault"
)

// publish processes checked payouts of one account as far as possible without another person, and stores them. Those that need no approval
// become pending with their money reserved, all of them by one update of the account. The others become initiated, each with an approval of
// its own. A fault refuses one payout and is returned for it; the others are not affected. The same goes for control.ErrSumsMoved, for a payout
// that needs no approval.
//
// Rows are locked in the order of the dispatcher: payouts first, then sums and limits, then the account. A new payout whose external id
// exists may wait for a transaction that changes the existing one. So it is inserted before the account is locked.
func (s *Service) publish(tx *db.Tx, by db.Caller, a ledger.Account, list []*draft) (refused []error, err error) {
	refused = make([]error, len(list))
	var ready []*draft
	var at []int
	isNew := make([]bool, len(list))
	for i, d := range list {
		d.ApprovalWhy, isNew[i] = d.need.Why, d.isNew()
		d.CountedAt = tx.Now()
		if d.need.Approvals == 0 {
			if err := d.pend(tx); err != nil {
				return nil, err
			}
			continue
		}
		d.Status, d.SendAt = Initiated, 0
		if d.ApprovalID, err = s.ask(tx, by, a, d.ID, d.Version, KindPayout, []*draft{d}, d.need); err != nil {
			return nil, err
		}
	}
	if err := store(tx, list...); err != nil {
		return nil, err
	}
	for i, d := range list {
		err := s.rules.CountSums(tx, d.spending(), d.exceeds)
		switch {
		case err != nil && (d.Status != Pending || !errors.Is(err, control.ErrSumsMoved)):
			return nil, err
		case err != nil:
			refused[i] = err
		case d.Status == Pending:
			ready, at = append(ready, d), append(at, i)
		}
	}
	short, err := s.reserve(tx, a, ready)
	if err != nil {
		return nil, err
	}
	for i, d := range ready {
		if refused[at[i]] = short[i]; short[i] != nil {
			if err := s.rules.DiscountSums(tx, d.spending()); err != nil {
				return nil, err
			}
		}
	}
	for i, d := range list {
		if refused[i] != nil && isNew[i] {
			if err := tx.Exec(`DELETE FROM payout WHERE id = $1`, d.ID); err != nil {
				return nil, err
			}
		}
	}
	return refused, nil
}

// pend makes a payout pending: it is sent at the next window of its rail. Its money is reserved in the same transaction.
func (d *draft) pend(tx *db.Tx) error {
	now := tx.Now()
	send, arrive := d.on.Next(time.UnixMilli(now))
	d.Status, d.SendAt, d.ExpectedAt, d.ReservedAt = Pending, send.UnixMilli(), arrive.UnixMilli(), now
	d.Overrides = ""
	d.CreatedAt = cmp.Or(d.CreatedAt, now)
	pays, err := d.turn(tx.Q)
	d.TermsMAC = d.termsCode(tx.Integrity(), d.number, pays)
	return err
}

// reserve reserves the money of pending payouts of one account. It counts them for the limits of the workspace. A fault refuses one of them.
func (s *Service) reserve(tx *db.Tx, a ledger.Account, list []*draft) (refused []error, err error) {
	refused = make([]error, len(list))
	var wants []ledger.Want
	var at []int
	for i, d := range list {
		var f *fault.Fault
		if refused[i] = s.rules.TakeLimits(tx, d.spending()); refused[i] != nil {
			if !errors.As(refused[i], &f) {
				return nil, refused[i]
			}
			continue
		}
		wants, at = append(wants, ledger.Want{Reference: d.ID, Amount: d.Amount, Description: d.Description}), append(at, i)
	}
	if len(wants) == 0 {
		return refused, nil
	}
	short, err := ledger.Reserve(tx, a, wants)
	if err != nil {
		return nil, err
	}
	stopped, err := s.rules.Stopped(tx.Q, a.WorkspaceID, a.Mode)
	if err != nil {
		return nil, err
	}
	for j, i := range at {
		d := list[i]
		if refused[i] = short[j]; refused[i] != nil {
			if err := s.rules.GiveBackLimits(tx, d.spending()); err != nil {
				return nil, err
			}
		}
		d.Stopped = stopped
	}
	return refused, nil
}

// ask requests the approval of payouts of one account: of one, or of a batch.
func (s *Service) ask(tx *db.Tx, by db.Caller, a ledger.Account, subjectID string, version int64, kind string, list []*draft, need control.Need) (id string, err error) {
	if by, err = behind(tx.Q, by, list); err != nil {
		return "", err
	}
	return s.approvals.Make(tx, by, approval.Request{Kind: kind, Mode: a.Mode, WorkspaceID: a.WorkspaceID, Workspace: list[0].WorkspaceNumber, SubjectID: subjectID, Version: version,
		Payload: termsOf(a, list, kind), Needed: need.Approvals, Role: need.Role, KeysMay: need.KeysMay})
}

// terms are what an approval of payouts is for. For a batch the digest represents the payouts.
type terms struct {
	AccountID   string `json:"account_id"`
	AccountName string `json:"account_name"`
	Mode        string `json:"mode"`
	Total       int64  `json:"total"`
	Currency    string `json:"currency"`
	Payouts     int    `json:"payouts"`
	Digest      string `json:"digest"` // of ids, amounts, rails and destinations

	// Set only for a single payout.
	Rail        string `json:"rail,omitzero"`
	Institution string `json:"institution,omitzero"`
	Number      string `json:"number,omitzero"`
	Payee       string `json:"payee,omitzero"`
	MethodID    string `json:"method_id,omitzero"`
	Description string `json:"description,omitzero"`
	ExternalID  string `json:"external_id,omitzero"`
}

func termsOf(a ledger.Account, list []*draft, kind string) terms {
	t := terms{AccountID: a.ID, AccountName: a.Name, Mode: a.Mode, Currency: a.Currency, Payouts: len(list)}
	sum := sha256.New()
	for _, d := range list {
		t.Total += d.Amount
		fmt.Fprintf(sum, "%s %s %d %s %s %s %q %q %q\n", d.ID, d.AccountID, d.Amount, d.Currency, d.Rail, d.MethodID, d.Institution, vault.NormalNumber(d.number), d.AccountName)
	}
	t.Digest = hex.EncodeToString(sum.Sum(nil))
	if kind == KindPayout {
		d := list[0]
		t.Rail, t.Institution, t.Number, t.Payee, t.MethodID, t.Description, t.ExternalID = d.Rail, d.Institution, d.number, d.AccountName, d.MethodID, d.Description, d.ExternalID
	}
	return t
}

// reserved returns the money that is reserved for a payout.
func (p Payout) reserved() ledger.Reserved {
	return ledger.Reserved{AccountID: p.AccountID, WorkspaceID: p.WorkspaceID, Currency: p.Currency, Mode: p.Mode, Reference: p.ID, Amount: p.Amount,
		Description: p.Description}
}

// spending returns what counts for the limits of a workspace.
func (p Payout) spending() control.Spending {
	return control.Spending{WorkspaceID: p.WorkspaceID, AccountID: p.AccountID, Makers: strings.Fields(p.Involved), EntryID: p.EntryID,
		Key: p.DestinationKey, Rail: p.Rail, Mode: p.Mode, Currency: p.Currency, Amount: p.Amount, At: p.ReservedAt, RequestedAt: p.CountedAt}
}
