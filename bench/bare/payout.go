package bare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bursar/bench/fill"
	"bursar/internal/db"
)

// PayoutConfig selects the payouts to write.
type PayoutConfig struct {
	Listen      string
	Store       string // SQLite file of the product, or the URL of its PostgreSQL database
	WorkspaceID string
	AccountID   string // pays; it has one payout, whose rows are copied
}

// ServePayouts answers until ctx ends. POST /payouts writes the rows that the product writes for
// a payout of the account, on disk before the answer, and updates the account once for each group.
func ServePayouts(ctx context.Context, c PayoutConfig) error {
	p, err := newPayer(ctx, c)
	if err != nil {
		return err
	}
	group := newGrouper(p.commit)
	defer p.store.close()
	defer group.stop()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payouts", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			var id string
			if id, err = group.create(""); err == nil {
				write(w, []byte(`{"ok":true,"data":{"id":"`+id+`"}}`))
				return
			}
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { write(w, []byte(`{"ok":true}`)) })
	return listen(ctx, c.Listen, mux)
}

// payoutStore is a database of one engine.
type payoutStore interface {
	read(table string, where fill.Condition, v fill.Vary) (fill.Row, error)
	numbers(sql, id string) ([]int64, error) // of the only row
	// commit runs the statements in one transaction.
	commit(list []statement) error
	close()
}

type statement struct {
	sql  string
	args []any
}

// payer writes payouts of one account.
type payer struct {
	store   payoutStore
	account string
	amount  int64
	rows    []tableRow
	at      int // Unix milliseconds; each payout has its own millisecond
}

type tableRow struct {
	table string
	fill.Row
}

func newPayer(ctx context.Context, c PayoutConfig) (*payer, error) {
	store, err := openPayoutStore(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	p := &payer{store: store, account: c.AccountID, at: int(time.Now().UnixMilli())}
	if err := p.readRows(c); err != nil {
		store.close()
		return nil, fmt.Errorf("read the rows to copy: %w", err)
	}
	return p, nil
}

func (p *payer) readRows(c PayoutConfig) error {
	now, err := p.store.numbers(`SELECT a.available, a.reserved, a.postings, p.amount FROM ledger_account a JOIN payout p ON p.account_id = a.id WHERE a.id = $1`, c.AccountID)
	if err != nil {
		return err
	}
	available, reserved, postings, first := now[0], now[1], now[2], p.at+1
	p.amount = now[3]
	count := func(i int) int64 { return int64(i - first) } // of payouts before this one
	of := fill.Condition{SQL: "account_id = $1", Args: []any{c.AccountID}}
	posting := func(bucket string) fill.Condition {
		return fill.Condition{SQL: "account_id = $1 AND number > 1 AND bucket = '" + bucket + "'", Args: of.Args}
	}
	for _, t := range []struct {
		table   string
		where   fill.Condition
		columns map[string]func(int) any
	}{
		{"payout", of, nil},
		{"ledger_transaction", fill.Condition{SQL: "reference = (SELECT id FROM payout WHERE account_id = $1)", Args: of.Args}, nil},
		{"ledger_posting", posting("available"), map[string]func(int) any{
			"number":  func(i int) any { return postings + 1 + 2*count(i) },
			"balance": func(i int) any { return available - p.amount*(1+count(i)) },
		}},
		{"ledger_posting", posting("reserved"), map[string]func(int) any{
			"number":  func(i int) any { return postings + 2 + 2*count(i) },
			"balance": func(i int) any { return reserved + p.amount*(1+count(i)) },
		}},
		{"audit_log", fill.NewestAuditRow(), map[string]func(int) any{
			"resource_id_key": func(i int) any { return fill.FilterKey("resource_id", c.WorkspaceID, db.FirstID("po", int64(i))) },
		}},
		{"idempotency", fill.Condition{SQL: "1 = 1"}, map[string]func(int) any{"id": digest}},
	} {
		row, err := p.store.read(t.table, t.where, fill.Vary{At: func(i int) int64 { return int64(i) }, Columns: t.columns})
		if err != nil {
			return err
		}
		p.rows = append(p.rows, tableRow{t.table, row})
	}
	return nil
}

// digest is as random and as long as the id of an idempotency record.
func digest(i int) any {
	sum := sha256.Sum256([]byte(strconv.Itoa(i)))
	return hex.EncodeToString(sum[:16])
}

func (p *payer) commit(group []*job) error {
	begin := p.at
	for _, j := range group {
		p.at++
		j.id = db.FirstID("po", int64(p.at))
	}
	var list []statement
	for _, row := range p.rows {
		list = append(list, row.inserts(begin+1, len(group))...)
	}
	n := int64(len(group))
	return p.store.commit(append(list, statement{`UPDATE ledger_account SET available = available - $1, reserved = reserved + $1, postings = postings + $2, updated_at = $3 WHERE id = $4`,
		[]any{n * p.amount, 2 * n, int64(p.at), p.account}}))
}

// inserts returns statements that insert n copies from the first on, many rows at a time. There are
// few numbers of rows, because each is another statement to prepare.
func (t tableRow) inserts(first, n int) (list []statement) {
	for size := 64; n > 0; size /= 4 {
		for ; n >= size; n -= size {
			var args []any
			var values strings.Builder
			for range size {
				for i, value := range t.Values(first) {
					args = append(args, value)
					fmt.Fprintf(&values, "%s$%d", map[bool]string{true: "), (", false: ", "}[i == 0], len(args))
				}
				first++
			}
			list = append(list, statement{"INSERT INTO " + t.table + " (" + strings.Join(t.Columns, ", ") + ") VALUES " + values.String()[3:] + ")", args})
		}
	}
	return list
}
