package payout

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
)

// A payout that was made after the moment of an archive is not in the restored store at all. If it was sent by a rail whose connector keeps
// a record of its own, that record still lists it. The record has its account, its amount, and a keyed hash of its workspace and external
// id. So while the rails are stopped, a node reads the records and stores what the store does not know as an unknown payment. The rails are
// not resumed before an operator has acknowledged each of them. Then
//
//   - it is a payout again, under its own id: processing, with the attempts that the record has, and without a payee. It is
//     recovered. Its money is reserved if the account has it. Otherwise the ledger has nothing of the payout, and its debit
//     and its return go to suspense;
//   - or, if its account is not known, the acknowledgement is in the audit log, and its debit goes to suspense.
//
// A request with the same external id gets the recovered payout, or a conflict.

// recordsReadSetting is set when records were read since the rails were stopped.
const recordsReadSetting = "rail_records_read"

// The payee of a recovered payout.
const (
	unknownPayee       = "Unknown payee"
	unknownInstitution = "unknown"
)

// recovered reports whether the payout was acknowledged after a restore: its destination is unknown.
func (p Payout) recovered() bool { return len(p.Sealed) == 0 }

// isReserved reports whether the money of a payout that was sent is in the ledger: that of a recovered one may not be.
func (p Payout) isReserved() bool { return !p.recovered() || p.ReservedAt > 0 }

// externalHasher hashes external ids under the key of the store.
type externalHasher []byte

func newExternalHasher(ctx context.Context, v *vault.Vault) (externalHasher, error) {
	return v.StoreKey(ctx, vault.ExternalIDKey)
}

// keyID names the key within a hash, so that hashes under another key are recognized as such.
func (h externalHasher) keyID() string {
	sum := sha256.Sum256(h)
	return hex.EncodeToString(sum[:4])
}

// hash returns the hash of an external id in a workspace, "" for no id.
func (h externalHasher) hash(workspaceID, externalID string) string {
	if externalID == "" {
		return ""
	}
	mac := hmac.New(sha256.New, h)
	fmt.Fprintf(mac, "%s\n%s", workspaceID, externalID)
	return h.keyID() + hex.EncodeToString(mac.Sum(nil)[:16])
}

// UnknownPayment is a payment that the record of a connector has and the store does not know, a row of unknown_payment.
type UnknownPayment struct {
	PayoutID  string `json:"payout_id" db:"payout_id"`
	Connector string `json:"connector" db:"connector"`
	Rail      string `json:"rail" db:"rail"`
	AccountID string `json:"account_id,omitempty" db:"account_id"`
	Amount    int64  `json:"amount_cents" db:"amount"`
	Currency  string `json:"currency" db:"currency"`
	SentAt    int64  `json:"sent_at" db:"sent_at"`
	// Recognizable reports whether a request with the same external id will be recognized.
	Recognizable bool `json:"recognizable" db:"recognizable,computed"`

	EndToEndID     string `json:"-" db:"end_to_end_id"`
	Attempt        int64  `json:"-" db:"attempt"`
	Submission     int64  `json:"-" db:"submission"`
	ExternalHash   string `json:"-" db:"external_hash"`
	AcknowledgedAt int64  `json:"-" db:"acknowledged_at"`
}

var (
	unknownRow = db.Select[UnknownPayment]("unknown_payment", map[string]string{"recognizable": `external_hash <> ''`})
	// addedUnknown leaves a payment that another node has stored meanwhile.
	addedUnknown = db.InsertInto[UnknownPayment]("unknown_payment").OrIgnore("end_to_end_id")
)

// ReadUnknown returns the unknown payments that no one has acknowledged yet, one for each payout: its last attempt.
func ReadUnknown(q db.Q) (list []UnknownPayment, err error) {
	err = q.Each(func(r db.Rows) error {
		u := unknownRow.Read(r)
		if n := len(list); n > 0 && list[n-1].PayoutID == u.PayoutID {
			list = list[:n-1]
		}
		list = append(list, u)
		return nil
	}, `SELECT `+unknownRow.Columns+` FROM unknown_payment WHERE acknowledged_at = 0 ORDER BY payout_id, attempt`)
	return list, err
}

// recordsRead reports whether a server has read the records of connectors since the rails were stopped. It is true if the store knows no
// records and has no live money. The archive may be older than the first record.
func recordsRead(q db.Q) (bool, error) {
	read, err := q.Row(readSetting, recordsReadSetting).Scan(new(string))
	if err != nil || read {
		return read, err
	}
	live, err := ledger.HasLive(q)
	if err != nil || live {
		return false, err
	}
	known, err := q.Row(`SELECT name FROM setting WHERE name >= $1 AND name < $2 LIMIT 1`, recordSetting, recordSetting+"~").Scan(new(string))
	return !known, err
}

// readRecords stores what the records of connectors have and the store does not know, once all of them can be trusted.
func (s *Sending) readRecords(ctx context.Context, trusted bool) (worked bool, err error) {
	if !trusted {
		return false, nil
	}
	var read bool
	err = s.db.Read(ctx, func(q db.Q) error {
		read, err = q.Row(readSetting, recordsReadSetting).Scan(new(string))
		return err
	})
	if err != nil || read {
		return false, err
	}
	hasher, err := newExternalHasher(ctx, s.vault)
	if err != nil {
		return false, err
	}
	for _, c := range s.rails.Connectors() {
		if r, keeps := c.(rail.Recorder); keeps {
			if err := s.readRecord(ctx, c, r, hasher); err != nil {
				return false, err
			}
		}
	}
	return true, s.whileStopped(ctx, func(tx *db.Tx) error { return tx.Exec(writeSetting, recordsReadSetting, "yes") })
}

// whileStopped changes the store unless the rails were resumed meanwhile.
func (s *Sending) whileStopped(ctx context.Context, do func(tx *db.Tx) error) error {
	_, err := db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		stopped, err := tx.Row(tx.ForShare(readSetting), stoppedSetting).Scan(new(string))
		if err == nil && stopped {
			err = do(tx)
		}
		return struct{}{}, audit.None("what is acknowledged is audited"), err
	})
	return err
}

// readRecord stores what a record has and the store does not know.
func (s *Sending) readRecord(ctx context.Context, c rail.Connector, r rail.Recorder, hasher externalHasher) error {
	unknown := map[string]*UnknownPayment{} // by end-to-end id
	var some []rail.Recorded
	flush := func() error {
		known, err := s.knownPayouts(ctx, some)
		for _, p := range some {
			u := s.unknown(c, p, hasher)
			if earlier := unknown[p.EndToEndID]; earlier != nil { // of several submissions: the highest, with the time of the first
				u.Submission, u.SentAt = max(u.Submission, earlier.Submission), min(u.SentAt, earlier.SentAt)
			}
			if !known[u.PayoutID] {
				unknown[p.EndToEndID] = &u
			}
		}
		some = some[:0]
		return err
	}
	err := r.Recorded(ctx, 0, func(p rail.Recorded) error {
		if some = append(some, p); len(some) < SendingBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	list := slices.SortedFunc(maps.Values(unknown), func(a, b *UnknownPayment) int { return cmp.Compare(a.EndToEndID, b.EndToEndID) })
	for some := range slices.Chunk(list, SendingBatch) {
		if err := s.whileStopped(ctx, func(tx *db.Tx) error { return addedUnknown.Insert(tx, some...) }); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		s.log.Error("a rail has sent payments that the restored store does not know: see 'bursar admin rails status'", "connector", c.Name(), "payments", len(list))
	}
	return nil
}

// unknown returns a payment of a record as it is stored.
func (s *Sending) unknown(c rail.Connector, p rail.Recorded, hasher externalHasher) UnknownPayment {
	u := UnknownPayment{Connector: c.Name(), Rail: p.Rail, AccountID: p.AccountID, Amount: p.Amount, Currency: p.Currency, SentAt: p.At,
		EndToEndID: p.EndToEndID, Attempt: 1, Submission: int64(p.Submission)}
	u.PayoutID = p.EndToEndID
	if id, attempt, ok := PayoutOf(p.EndToEndID); ok {
		u.PayoutID, u.Attempt = id, attempt
	}
	for _, one := range s.rails.All() {
		if one.Connector == c && one.Currency == p.Currency {
			u.Rail = cmp.Or(u.Rail, one.Name)
		}
	}
	if len(p.ExternalHash) > 8 && p.ExternalHash[:8] == hasher.keyID() {
		u.ExternalHash = p.ExternalHash
	}
	return u
}

// knownPayouts returns which of the payouts of some payments are in the store.
func (s *Sending) knownPayouts(ctx context.Context, some []rail.Recorded) (known map[string]bool, err error) {
	known = map[string]bool{}
	var ids []any
	for _, p := range some {
		if id, _, ok := PayoutOf(p.EndToEndID); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return known, nil
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		sql := db.NewStatement(`SELECT id FROM payout WHERE id`)
		sql.AddList(` IN (`, ids)
		return q.EachOf(sql, func(r db.Rows) error {
			known[r.Text(0)] = true
			return nil
		})
	})
	return known, err
}

// Unread reports whether a connector may have sent payments that the stopped store does not know yet.
func (s *Sending) Unread(ctx context.Context, from rail.Connector) (unread bool, err error) {
	if _, keeps := from.(rail.Recorder); !keeps {
		return false, nil
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		read, err := q.Row(readSetting, recordsReadSetting).Scan(new(string))
		if err == nil && read {
			unread, err = q.Row(`SELECT end_to_end_id FROM unknown_payment WHERE acknowledged_at = 0 LIMIT 1`).Scan(new(string))
			return err
		}
		unread = true
		return err
	})
	return unread, err
}

// Errors of ResumeRails and Acknowledge.
var (
	ErrNotRead         = errors.New("no server has compared what the rails have sent with the store yet")
	ErrNotAcknowledged = errors.New("rails have sent payments that the store does not know")
	ErrNotUnknown      = errors.New("no rail has sent an unknown payment of this id")
)

// Acknowledge stores unknown payments as payouts, each in its own transaction, and returns their number. Those that were acknowledged
// before are left unchanged.
func Acknowledge(ctx context.Context, d *db.DB, by db.Caller, payoutIDs []string) (acknowledged int, err error) {
	for _, id := range payoutIDs {
		done, err := db.Write(ctx, d, by, func(tx *db.Tx) (bool, audit.Event, error) {
			list, err := db.Collect(tx.Q, unknownRow.Read, tx.ForUpdate(`SELECT `+unknownRow.Columns+` FROM unknown_payment WHERE payout_id = $1 AND acknowledged_at = 0 ORDER BY attempt`), id)
			if err != nil {
				return false, audit.Event{}, err
			}
			if len(list) == 0 {
				known, err := tx.Row(`SELECT end_to_end_id FROM unknown_payment WHERE payout_id = $1 LIMIT 1`, id).Scan(new(string))
				if err == nil && !known {
					err = fmt.Errorf("%w: %s", ErrNotUnknown, id)
				}
				return false, audit.None("it was acknowledged before"), err
			}
			if err := tx.Exec(`UPDATE unknown_payment SET acknowledged_at = $2 WHERE payout_id = $1 AND acknowledged_at = 0`, id, tx.Now()); err != nil {
				return false, audit.Event{}, err
			}
			event, err := recoverPayout(tx, list)
			return true, event, err
		})
		if err != nil {
			return acknowledged, err
		}
		if done {
			acknowledged++
		}
	}
	return acknowledged, nil
}

// recoverPayout stores a payout with its attempts in the record of a connector, if its account is known.
func recoverPayout(tx *db.Tx, list []UnknownPayment) (audit.Event, error) {
	last := list[len(list)-1]
	what := fmt.Sprintf("Acknowledged a payment of %s that %s has sent after the moment of the archive", api.FormatAmount(last.Amount, last.Currency), last.Connector)
	event := audit.Event{Action: audit.PayoutAcknowledged, ResourceID: last.PayoutID}
	a, err := ledger.FindAccount(tx.Q, last.AccountID)
	if err != nil {
		return event, err
	}
	if a.Kind != ledger.Customer || a.Currency != last.Currency {
		event.Description = what + "; its account is not known, and its debit goes to suspense"
		return event, nil
	}
	now := tx.Now()
	err = tx.Exec(`INSERT INTO payout (id, workspace_id, account_id, amount, currency, mode, description, rail, rail_asked, rail_why, institution_code, account_name, name_key,
			status, attention, failure_code, failure_reason, failure_text, cancel_reason, maker_id, involved, approval_why, attempts, reserved_at, send_at, expected_at, version,
			created_at, updated_at, ended_at)
		VALUES ($1, $2, $3, $4, $5, $6, '', $7, '', 'it was sent before the store was restored', $8, $9, $10, 'processing', 'outcome_unknown', '', '', '', '', $11, '', '',
			$12, 0, $13, $13, 1, $13, $14, 0)`, last.PayoutID, a.WorkspaceID, a.ID, last.Amount, last.Currency, a.Mode, last.Rail, unknownInstitution, unknownPayee,
		nameKey(unknownPayee), "", last.Attempt, list[0].SentAt, now)
	if err != nil {
		return event, err
	}
	for _, u := range list {
		state := rail.Unknown
		if u != last {
			state = rail.Rejected // otherwise there would be no later attempt
		}
		if err := storeReceived(tx, &attempt{Number: u.Attempt, EndToEndID: u.EndToEndID, State: state, ClaimedAt: u.SentAt, Submission: u.Submission, payout: &Payout{ID: u.PayoutID}}); err != nil {
			return event, err
		}
	}
	refused, err := ledger.Reserve(tx, a, []ledger.Want{{Reference: last.PayoutID, Amount: last.Amount, Description: "sent before the store was restored"}})
	if err != nil {
		return event, err
	}
	event.WorkspaceID, event.Description = a.WorkspaceID, what
	event.Changes.Add("status", nil, Processing)
	event.Changes.Add("source_account_id", nil, a.ID)
	event.Changes.Add("amount_cents", nil, last.Amount)
	event.Changes.Add("settlement_rail", nil, last.Rail)
	if refused[0] != nil {
		event.Description += "; its money cannot be reserved, and its debit goes to suspense: " + refused[0].Error()
		return event, nil
	}
	return event, tx.Exec(`UPDATE payout SET reserved_at = $2 WHERE id = $1`, last.PayoutID, now)
}

// findRecovered returns the payout that was acknowledged after a restore and has the same external id as another payout. It reports whether
// there is one; the payout is empty if its account is not known. The simulator is part of the store, so nothing of the sandbox is
// recovered.
func findRecovered(q db.Q, h externalHasher, as Payout) (p Payout, found bool, err error) {
	if as.ExternalID == "" || as.sandbox() {
		return p, false, nil
	}
	var id string
	found, err = q.Row(`SELECT payout_id FROM unknown_payment WHERE external_hash = $1 AND acknowledged_at > 0 LIMIT 1`, h.hash(as.WorkspaceID, as.ExternalID)).Scan(&id)
	if err == nil && found {
		p, err = Find(q, id)
	}
	return p, found, err
}

// becomeRecovered replaces a draft by the recovered payout with its external id. If that differs, as far as its terms are known, the draft
// gets the conflict as a fault.
func (d *draft) becomeRecovered(p Payout) {
	if p.AccountID != d.AccountID || p.Amount != d.Amount || p.Currency != d.Currency {
		d.faults = append(d.faults, fault.New(api.CodeIdempotencyConflict,
			"a payout with this external_id was sent before the store was restored, and differs in its account or amount: use another external_id"))
		return
	}
	p.ExternalID = d.ExternalID
	*d = draft{Payout: p, existed: true}
}

// notRecovered returns a fault if a payout cannot go on, because it was recovered, or has the same external id as a recovered one.
func (s *Service) notRecovered(ctx context.Context, d *draft) error {
	if d.recovered() {
		return &fault.Fault{Code: api.CodePayoutState, Details: api.PayoutStateDetails{Status: d.Status},
			Message: "the payee of this payout is not known since the store was restored: make a new payout, with another external_id"}
	}
	if d.Status != Draft || d.ExternalID == "" || d.sandbox() {
		return nil
	}
	hasher, err := newExternalHasher(ctx, s.vault)
	if err != nil {
		return err
	}
	return s.db.Read(ctx, func(q db.Q) error {
		_, found, err := findRecovered(q, hasher, d.Payout)
		if err == nil && found {
			err = fault.New(api.CodeIdempotencyConflict, "a payout with the external_id of this draft was sent before the store was restored: cancel the draft")
		}
		return err
	})
}
