package ledger

import (
	"cmp"
	"crypto/hmac"
	"fmt"
	"slices"

	"bursar/internal/db"
)

// posting contains the columns of a ledger_posting that its transaction's code covers.
type posting struct {
	account         string
	number          int64
	bucket          Bucket
	amount, balance int64
}

// transactionMAC returns the code of a transaction: over its id, workspace, kind, reference and postings.
func transactionMAC(i *db.Integrity, id, workspaceID, kind, reference string, postings []posting) []byte {
	slices.SortFunc(postings, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.account, b.account), cmp.Compare(a.number, b.number))
	})
	fields := []any{id, workspaceID, kind, reference}
	for _, p := range postings {
		fields = append(fields, p.account, p.number, string(p.bucket), p.amount, p.balance)
	}
	return i.MAC("ledger transaction", fields...)
}

// earlier collects the transactions without a code of the key, because they are older than the key.
type earlier struct {
	Count  int64  `json:"count"`
	Digest []byte `json:"digest"`
}

// add adds the next transactions, in the order of ids.
func (e *earlier) add(i *db.Integrity, codes [][]byte) {
	for _, code := range codes {
		e.Count++
		e.Digest = i.MAC("ledger transactions without a code", e.Digest, code)
	}
}

// compare returns a mismatch unless these are the transactions that existed when the key was made.
func (e *earlier) compare(i *db.Integrity) []Mismatch {
	if e.Count == i.Count && hmac.Equal(e.Digest, i.Digest) {
		return nil
	}
	return []Mismatch{{Problem: fmt.Sprintf("%d transactions have no authentication code of this store, and %d were there when its key was made: "+
		"some were added, changed or deleted in the store", e.Count, i.Count)}}
}

// Authenticate adds the transactions of a store to a new key: from then on, no other is valid without a code.
func Authenticate(q db.Q, i *db.Integrity) error {
	var all earlier
	for after := ""; ; {
		c, err := checkTransactions(q, i, after)
		if err != nil {
			return err
		}
		all.add(i, c.earlier)
		if after = c.last; c.read < verifyChunk {
			break
		}
	}
	i.Count, i.Digest = all.Count, all.Digest
	return nil
}

// HasTransactions reports whether there are any.
func HasTransactions(q db.Q) (bool, error) {
	return q.Row(`SELECT id FROM ledger_transaction ORDER BY id LIMIT 1`).Scan(new(string))
}

// Holding is the money that the ledger holds for a payout.
type Holding struct {
	AccountID string
	Amount    int64 // reserved, and neither released nor completed
	Paid      int64 // completed, and not returned
	// Forged is a transaction whose code is wrong, "" if there is none. Earlier reports that one is older than the key.
	Forged  string
	Earlier bool
}

// Held returns what is reserved for payouts, by their ids, and whether the transactions are authentic.
func Held(q db.Q, i *db.Integrity, payouts []any) (map[string]Holding, error) {
	type row struct {
		workspaceID, kind, reference string
		mac                          []byte
		postings                     []posting
	}
	rows, ids := map[string]*row{}, []any{}
	list := db.NewStatement(`SELECT id, workspace_id, kind, reference, mac FROM ledger_transaction WHERE reference`)
	list.AddList(` IN (`, payouts)
	err := q.EachOf(list, func(r db.Rows) error {
		rows[r.Text(0)] = &row{workspaceID: r.Text(1), kind: r.Text(2), reference: r.Text(3), mac: slices.Clone(r.Raw(4))}
		ids = append(ids, r.Text(0))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list = db.NewStatement(`SELECT transaction_id, account_id, number, bucket, amount, balance FROM ledger_posting WHERE transaction_id`)
	list.AddList(` IN (`, ids)
	err = q.EachOf(list, func(r db.Rows) error {
		one := rows[r.Text(0)]
		one.postings = append(one.postings, posting{r.Text(1), r.Int(2), Bucket(r.Text(3)), r.Int(4), r.Int(5)})
		return nil
	})
	held, net := make(map[string]Holding, len(payouts)), map[string]map[string]int64{} // by payout and account
	for id, one := range rows {
		h := held[one.reference]
		switch {
		case !i.Names(one.mac):
			h.Earlier = true
		case !hmac.Equal(one.mac, transactionMAC(i, id, one.workspaceID, one.kind, one.reference, one.postings)):
			h.Forged = id
		}
		if net[one.reference] == nil {
			net[one.reference] = map[string]int64{}
		}
		for _, p := range one.postings {
			net[one.reference][p.account] += p.amount
			if p.bucket == BucketReserved {
				h.AccountID, h.Amount = p.account, h.Amount+p.amount
			}
		}
		held[one.reference] = h
	}
	for id, h := range held {
		h.Paid = -net[id][h.AccountID]
		held[id] = h
	}
	return held, err
}
