package ledger

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"bursar/api"
	"bursar/internal/db"
	"bursar/internal/web"
)

func accountsOf(q db.Q, workspaceID, mode, after string, take int) ([]api.Account, error) {
	return db.Collect(q, func(r db.Rows) api.Account { return wire(readAccount(r)) },
		`SELECT `+accountColumns+` FROM ledger_account
			WHERE workspace_id = $1 AND id > $2 AND ($3 = '' OR mode = $3) ORDER BY id LIMIT $4`, workspaceID, after, mode, take)
}

// saveAccount stores name and status of a locked account, and returns the stored account.
func saveAccount(tx *db.Tx, a Account) (Account, error) {
	return oneAccount(tx.Q, `UPDATE ledger_account SET name = $2, status = $3, version = version + 1,
			updated_at = CASE WHEN updated_at < $4 THEN $4 ELSE updated_at END
		WHERE id = $1 RETURNING `+accountColumns, a.ID, a.Name, a.Status, tx.Now())
}

// position returns the place of a posting in the list of its account.
func position(p api.Posting) string { return strconv.FormatInt(p.Number, 10) }

// postingsOf reads a page of the postings of an account, newest first.
func postingsOf(q db.Q, a Account, in PostingsInput, w web.Window) (rows []api.Posting, err error) {
	from, below := int64(0), int64(math.MaxInt64)
	if w.After != string(web.Descending) {
		below, _ = strconv.ParseInt(w.After, 10, 64) // the cursor was made by this server
	}
	if in.Since != nil {
		if from, err = firstSince(q, a, in.since); err != nil {
			return nil, err
		}
	}
	if in.Until != nil {
		end, err := firstSince(q, a, in.until+1)
		if err != nil {
			return nil, err
		}
		below = min(below, end)
	}
	if in.Reference != nil {
		return postingsFor(q, a, *in.Reference, func(p api.Posting) bool {
			return p.Number >= from && p.Number < below && (in.Bucket == nil || p.Bucket == *in.Bucket)
		}, w.Limit)
	}
	var sql *db.Statement
	if in.Bucket != nil && *in.Bucket != api.BucketAvailable {
		// An account that only receives has few of these among many. SQLite uses the index that finds them only if it contains all selected
		// columns, so the numbers are found first.
		sql = db.NewStatement(postingColumns+` FROM (SELECT account_id, number FROM ledger_posting WHERE bucket <> 'available' AND bucket = `, *in.Bucket)
		sql.Add(` AND account_id = `, a.ID)
		sql.Add(` AND number < `, below)
		sql.Add(` AND number >= `, from)
		sql.Add(` ORDER BY number DESC`)
		sql.Limit(w.Limit)
		sql.Add(`) n JOIN ledger_posting p ON p.account_id = n.account_id AND p.number = n.number JOIN ledger_transaction t ON t.id = p.transaction_id ORDER BY p.number DESC`)
	} else {
		sql = db.NewStatement(postingColumns+` FROM ledger_posting p JOIN ledger_transaction t ON t.id = p.transaction_id WHERE p.account_id = `, a.ID)
		sql.Add(` AND p.number < `, below)
		if from > 0 {
			// Only if requested: PostgreSQL expects few rows between two unknown bounds, and so would plan the first page of a long
			// statement again each time.
			sql.Add(` AND p.number >= `, from)
		}
		if in.Bucket != nil {
			sql.Add(` AND p.bucket = 'available'`)
		}
		sql.Add(` ORDER BY p.number DESC`)
	}
	sql.Limit(w.Limit)
	err = q.EachOf(sql, func(r db.Rows) error {
		rows = append(rows, readPosting(a, r))
		return nil
	})
	return rows, err
}

const postingColumns = `SELECT p.number, p.transaction_id, t.kind, t.reference, t.description, p.bucket, p.amount, p.balance, p.created_at, p.account_id`

func readPosting(a Account, r db.Rows) api.Posting {
	p := api.Posting{
		AccountID: a.ID, Number: r.Int(0), TransactionID: r.Text(1), Kind: r.Text(2), Reference: r.Text(3), Description: r.Text(4),
		Bucket: r.Text(5), Amount: r.Int(6), Balance: r.Int(7), CreatedAt: r.Int(8),
	}
	p.ID = db.DerivedID("pst", p.CreatedAt, a.ID+"/"+position(p))
	return p
}

// maxOfReference is how many transactions of a payout, transfer or deposit are read. It has few.
const maxOfReference = 1000

// postingsFor returns the postings of an account for a reference, newest first. It goes from the transactions to their few postings and
// leaves out those of other accounts. With the account in the statement, the database might read all of its postings.
func postingsFor(q db.Q, a Account, reference string, wanted func(api.Posting) bool, limit int) (rows []api.Posting, err error) {
	ids, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) },
		`SELECT id FROM ledger_transaction WHERE reference = $1 ORDER BY id DESC LIMIT $2`, reference, maxOfReference)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		err := q.Each(func(r db.Rows) error {
			if p := readPosting(a, r); r.Text(9) == a.ID && wanted(p) {
				rows = append(rows, p)
			}
			return nil
		}, postingColumns+` FROM ledger_posting p JOIN ledger_transaction t ON t.id = p.transaction_id WHERE p.transaction_id = $1`, id)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(rows, func(a, b api.Posting) int { return cmp.Compare(b.Number, a.Number) })
	return rows[:min(len(rows), limit)], nil
}

// firstSince returns the number of the first posting of an account at or after a time, or the next number if there is none. Numbers and
// times grow together, so a binary search finds it without an index.
func firstSince(q db.Q, a Account, at int64) (int64, error) {
	low, high := int64(1), a.Postings+1
	for low < high {
		middle := low + (high-low)/2
		var created int64
		if _, err := q.Row(`SELECT created_at FROM ledger_posting WHERE account_id = $1 AND number = $2`, a.ID, middle).Scan(&created); err != nil {
			return 0, err
		}
		if created < at {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low > a.Postings { // there may be newer ones meanwhile
		return math.MaxInt64, nil
	}
	return low, nil
}

const depositColumns = `d.id, d.workspace_id, d.account_id, d.amount, a.currency, d.source, d.reference, d.status, d.created_at, d.booked_at`

func readDeposit(r db.Rows) api.Deposit {
	return api.Deposit{
		ID: r.Text(0), WorkspaceID: r.Text(1), AccountID: r.Text(2), Amount: r.Int(3), Currency: r.Text(4), Source: r.Text(5), Reference: r.Text(6),
		Status: r.Text(7), CreatedAt: r.Int(8), BookedAt: r.Int(9),
	}
}

// depositsOf reads a page of the deposits of a workspace, or of one of its accounts, newest first.
func depositsOf(q db.Q, workspaceID string, accountID *string, mode string, w web.Window) (rows []api.Deposit, err error) {
	sql := db.NewStatement(`SELECT `+depositColumns+` FROM ledger_deposit d JOIN ledger_account a ON a.id = d.account_id WHERE d.workspace_id = `, workspaceID)
	sql.Add(` AND d.id < `, w.After)
	if accountID != nil {
		sql.Add(` AND d.account_id = `, *accountID)
	}
	if mode != "" {
		sql.Add(` AND a.mode = `, mode)
	}
	sql.Add(` ORDER BY d.id DESC`)
	sql.Limit(w.Limit)
	err = q.EachOf(sql, func(r db.Rows) error {
		rows = append(rows, readDeposit(r))
		return nil
	})
	return rows, err
}
