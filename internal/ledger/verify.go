package ledger

import (
	"context"
	"crypto/hmac"
	"fmt"
	"slices"

	"bursar/internal/db"
)

// Mismatch is a contradiction within the ledger.
type Mismatch struct {
	TransactionID string `json:"transaction_id,omitzero"`
	AccountID     string `json:"account_id,omitzero"`
	Number        int64  `json:"number,omitzero"` // of the posting
	Problem       string `json:"problem"`
}

func (m Mismatch) String() string {
	if m.TransactionID == "" && m.AccountID == "" {
		return m.Problem
	}
	text := ""
	if m.Number > 0 {
		text = fmt.Sprintf("posting %d of ", m.Number)
	}
	if m.AccountID != "" {
		text += "account " + m.AccountID + ", "
	}
	if m.TransactionID != "" {
		text += "transaction " + m.TransactionID + ", "
	}
	return text[:len(text)-2] + ": " + m.Problem
}

// Report is the result of a verification. The verification stops after maxMismatches.
type Report struct {
	Accounts     int64 `json:"accounts"`
	Postings     int64 `json:"postings"`
	Transactions int64 `json:"transactions"`
	Payouts      int64 `json:"payouts"`
	// Authenticated reports whether the codes of transactions were checked, which needs the key.
	Authenticated bool       `json:"authenticated"`
	Mismatches    []Mismatch `json:"mismatches"`
}

const (
	maxMismatches = 1000
	verifyChunk   = 1000 // rows of one query
)

// Verify recomputes the whole ledger and checks that
//
//   - the postings of each account are numbered without gaps,
//   - each running balance follows from the one before,
//   - no bucket was ever on the wrong side,
//   - no payout ended with more than was reserved for it,
//   - the buckets of each account are those of its last postings,
//   - each transaction sums to zero in one currency and mode, and
//   - the transactions of each payout agree with its state.
//
// All of it is read in one snapshot. With online it is read in parts: account by account, and some transactions or payouts at a time. So a
// busy store need not keep old versions for long. progress receives how many postings were read, and of how many; each is read twice.
func Verify(ctx context.Context, d *db.DB, online bool, progress func(done, total int64)) (Report, error) {
	v := &verification{db: d, ctx: ctx, progress: progress, report: Report{Mismatches: []Mismatch{}}}
	v.read = func(fn func(q db.Q) error) error {
		return d.Read(ctx, func(q db.Q) error {
			if err := q.Snapshot(); err != nil {
				return err
			}
			return fn(q)
		})
	}
	if online {
		err := v.all()
		return v.report, err
	}
	err := v.read(func(q db.Q) error {
		v.read = func(fn func(q db.Q) error) error { return fn(q) }
		return v.all()
	})
	return v.report, err
}

type verification struct {
	db          *db.DB
	ctx         context.Context
	read        func(fn func(q db.Q) error) error
	progress    func(done, total int64)
	done, total int64
	report      Report
}

func (v *verification) add(some []Mismatch) {
	v.report.Mismatches = append(v.report.Mismatches, some...)
}

func (v *verification) advance(rows int) error {
	v.done += int64(rows)
	v.progress(min(v.done, v.total), v.total)
	if len(v.report.Mismatches) >= maxMismatches {
		return errEnough
	}
	return v.ctx.Err()
}

var errEnough = fmt.Errorf("more than %d mismatches", maxMismatches)

func (v *verification) all() error {
	err := v.read(func(q db.Q) error {
		_, err := q.Row(`SELECT CAST(coalesce(sum(postings), 0) AS BIGINT) FROM ledger_account`).Scan(&v.total)
		return err
	})
	v.total *= 2
	if err == nil {
		err = v.accounts()
	}
	if err == nil {
		err = v.transactions()
	}
	if err == nil {
		err = v.payouts()
	}
	if err == errEnough {
		err = nil
	}
	return err
}

// accounts verifies each account, in a snapshot of its own unless there is one of the whole ledger.
func (v *verification) accounts() error {
	for walk := (walker{}); ; {
		err := v.read(func(q db.Q) error {
			found, err := walk.begin(q)
			if err != nil || !found {
				walk = walker{}
				return err
			}
			walk.open = map[string]int64{}
			for more := true; more; {
				rows, some, err := walk.step(q)
				if err != nil {
					return err
				}
				v.report.Postings += int64(rows)
				v.add(some)
				if err := v.advance(rows); err != nil {
					return err
				}
				more = rows == verifyChunk
			}
			return nil
		})
		if err != nil || walk.Account == "" {
			return err
		}
		v.report.Accounts++
	}
}

func (v *verification) transactions() error {
	var before earlier
	i := v.db.Integrity()
	v.report.Authenticated = i != nil
	for after := ""; ; {
		var c checked
		err := v.read(func(q db.Q) (err error) {
			c, err = checkTransactions(q, i, after)
			return err
		})
		if err != nil {
			return err
		}
		after = c.last
		v.report.Transactions += int64(c.read)
		before.add(i, c.earlier)
		v.add(c.found)
		if err := v.advance(c.postings); err != nil {
			return err
		}
		if c.read < verifyChunk {
			break
		}
	}
	if i != nil {
		v.add(before.compare(i))
	}
	return nil
}

func (v *verification) payouts() error {
	for after := ""; ; {
		var read int
		var some []Mismatch
		err := v.read(func(q db.Q) (err error) {
			after, read, some, err = checkPayouts(q, v.db.Integrity(), after)
			return err
		})
		if err != nil {
			return err
		}
		v.report.Payouts += int64(read)
		v.add(some)
		if err := v.advance(0); err != nil || read < verifyChunk {
			return err
		}
	}
}

// walker steps through the postings of accounts. It can be stored and continued later.
type walker struct {
	Account   string `json:"account"`
	Number    int64  `json:"number"` // of the last posting that was read
	At        int64  `json:"at"`
	Available int64  `json:"available"`
	Reserved  int64  `json:"reserved"`
	Pending   int64  `json:"pending"`

	open map[string]int64 // what is reserved, by payout; nil if that is not checked
}

// begin moves to the next account, if there is one.
func (w *walker) begin(q db.Q) (found bool, err error) {
	next := walker{}
	found, err = q.Row(`SELECT id FROM ledger_account WHERE id > $1 ORDER BY id LIMIT 1`, w.Account).Scan(&next.Account)
	if found {
		*w = next
	}
	return found, err
}

// step verifies the next postings of the account. If there are no more after them, it compares the account with them, in the caller's
// snapshot.
func (w *walker) step(q db.Q) (rows int, found []Mismatch, err error) {
	a, err := FindAccount(q, w.Account)
	if err != nil {
		return 0, nil, err
	}
	balance := sums{available: w.Available, reserved: w.Reserved, pending: w.Pending}
	err = q.Each(func(r db.Rows) error {
		rows++
		number, transaction, bucket, amount, stored, at := r.Int(0), r.Text(1), Bucket(r.Text(2)), r.Int(3), r.Int(4), r.Int(5)
		wrong := func(format string, args ...any) {
			found = append(found, Mismatch{transaction, a.ID, number, fmt.Sprintf(format, args...)})
		}
		if number != w.Number+1 {
			wrong("the posting before it is %d", w.Number)
		}
		if at < w.At {
			wrong("it is older than the posting before it")
		}
		if r.Null(6) {
			wrong("its transaction does not exist")
		}
		if running := balance.bucket(bucket); running == nil {
			wrong("there is no bucket %q", bucket)
		} else {
			if *running+amount != stored {
				wrong("%s was %d and changed by %d, but the balance is %d", bucket, *running, amount, stored)
			}
			*running = stored // so that one wrong posting is reported once
			if !a.sided(bucket, stored) {
				wrong("%s of a %s account is %d", bucket, a.Kind, stored)
			}
		}
		if w.open != nil && bucket == BucketReserved {
			reference := r.Text(6)
			if w.open[reference] += amount; w.open[reference] < 0 {
				wrong("more was taken from what is reserved for %s than was reserved", reference)
			}
			if w.open[reference] == 0 {
				delete(w.open, reference)
			}
		}
		w.Number, w.At = number, at
		return nil
	}, `SELECT p.number, p.transaction_id, p.bucket, p.amount, p.balance, p.created_at, t.reference
		FROM ledger_posting p LEFT JOIN ledger_transaction t ON t.id = p.transaction_id WHERE p.account_id = $1 AND p.number > $2 ORDER BY p.number LIMIT $3`,
		w.Account, w.Number, verifyChunk)
	w.Available, w.Reserved, w.Pending = balance.available, balance.reserved, balance.pending
	if err == nil && rows < verifyChunk {
		found = append(found, w.compare(a)...)
	}
	return rows, found, err
}

// sided reports whether a balance is on the side that the kind of the account allows.
func (a Account) sided(b Bucket, balance int64) bool {
	switch {
	case b != BucketAvailable:
		return balance >= 0 && (a.Kind == Customer || balance == 0)
	case a.Kind == Bank || a.Kind == Suspense:
		return true
	}
	return balance >= 0
}

// compare returns where an account differs from its postings.
func (w *walker) compare(a Account) (found []Mismatch) {
	for _, one := range []struct {
		what           string
		stored, follow int64
	}{
		{"the number of the last posting", a.Postings, w.Number},
		{"available", a.Available, w.Available}, {"reserved", a.Reserved, w.Reserved}, {"pending", a.Pending, w.Pending},
	} {
		if one.stored != one.follow {
			found = append(found, Mismatch{AccountID: a.ID, Problem: fmt.Sprintf("%s is %d, but %d follows from its postings", one.what, one.stored, one.follow)})
		}
	}
	for bucket, balance := range map[Bucket]int64{BucketAvailable: a.Available, BucketReserved: a.Reserved, BucketPending: a.Pending} {
		if !a.sided(bucket, balance) {
			found = append(found, Mismatch{AccountID: a.ID, Problem: fmt.Sprintf("%s of a %s account is %d", bucket, a.Kind, balance)})
		}
	}
	return found
}

// checked is the result of checkTransactions.
type checked struct {
	last           string // transaction
	read, postings int
	found          []Mismatch
	earlier        [][]byte // codes that the key computes for transactions that it has not authenticated
}

// transaction is a row of ledger_transaction.
type transaction struct {
	id, workspaceID, kind, reference string
	mac                              []byte
}

// checkTransactions verifies the next transactions. Without a key their codes are not checked, and they are not compared with the audit
// log.
func checkTransactions(q db.Q, i *db.Integrity, after string) (c checked, err error) {
	c.last = after
	list, err := db.Collect(q, func(r db.Rows) transaction {
		return transaction{r.Text(0), r.Text(1), r.Text(2), r.Text(3), slices.Clone(r.Raw(4))}
	}, `SELECT id, workspace_id, kind, reference, mac FROM ledger_transaction WHERE id > $1 ORDER BY id LIMIT $2`, after, verifyChunk)
	if err != nil || len(list) == 0 {
		return c, err
	}
	last := list[len(list)-1].id
	parts := make(map[string][]posting, len(list))
	err = q.Each(func(r db.Rows) error {
		parts[r.Text(0)] = append(parts[r.Text(0)], posting{r.Text(1), r.Int(2), Bucket(r.Text(3)), r.Int(4), r.Int(5)})
		c.postings++
		return nil
	}, `SELECT transaction_id, account_id, number, bucket, amount, balance FROM ledger_posting WHERE transaction_id > $1 AND transaction_id <= $2
		ORDER BY transaction_id, account_id, number`, after, last)
	if err != nil {
		return c, err
	}
	accounts := map[string]Account{}
	var authenticated []transaction
	for _, t := range list {
		var sum int64
		var first Account
		for n, p := range parts[t.id] {
			a, known := accounts[p.account]
			if !known {
				if a, err = FindAccount(q, p.account); err != nil {
					return c, err
				}
				accounts[p.account] = a
			}
			if n == 0 {
				first = a
			}
			sum += p.amount
			switch {
			case a.ID == "":
				c.found = append(c.found, Mismatch{t.id, p.account, p.number, "the account does not exist"})
			case a.Currency != first.Currency || a.Mode != first.Mode:
				c.found = append(c.found, Mismatch{t.id, p.account, p.number, "it moves money between currencies or modes"})
			}
		}
		if n := len(parts[t.id]); n < 2 {
			c.found = append(c.found, Mismatch{TransactionID: t.id, Problem: fmt.Sprintf("it has %d postings", n)})
		} else if sum != 0 {
			c.found = append(c.found, Mismatch{TransactionID: t.id, Problem: fmt.Sprintf("its postings sum to %d", sum)})
		}
		code := transactionMAC(i, t.id, t.workspaceID, t.kind, t.reference, parts[t.id])
		switch {
		case i == nil:
		case !i.Names(t.mac):
			c.earlier = append(c.earlier, code)
		case !hmac.Equal(code, t.mac):
			c.found = append(c.found, Mismatch{TransactionID: t.id, Problem: "its authentication code is wrong: it was changed in the store"})
		default:
			authenticated = append(authenticated, t)
		}
	}
	logged, err := checkLogged(q, authenticated, parts)
	c.found, c.last, c.read = append(c.found, logged...), last, len(list)
	return c, err
}
