package directory

import (
	"context"
	"strings"

	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/vault"
)

// lastDigits returns what finds the account numbers that end with the text of a search. It returns nothing unless the text is four digits
// and the caller may see account numbers. There is a value for each data key of the workspace.
func (s *Service) lastDigits(ctx context.Context, by db.Caller, workspaceID string, workspace int64, text *string) ([][]byte, error) {
	if text == nil {
		return nil, nil
	}
	tail := vault.TailOf(strings.TrimSpace(*text))
	if tail == "" {
		return nil, nil
	}
	held, err := s.authority.Permissions(ctx, by.Actor, workspaceID)
	if err != nil || !held.Has(access.ReceivingRead) {
		return nil, err
	}
	return s.vault.Lookups(ctx, workspace, tail)
}

func (f filter) addTails(sql *db.Statement) {
	for i, tail := range f.tails {
		if i > 0 {
			sql.Add(`, `)
		}
		sql.Add(``, tail)
	}
}

// tailFrequency counts the accounts with the last digits, up to commonThreshold.
func (f filter) tailFrequency(q db.Q) (n int, err error) {
	sql := db.NewStatement(`SELECT 1 FROM receiving_method WHERE tail_key IN (`)
	f.addTails(sql)
	sql.Add(`)`)
	sql.Limit(commonThreshold)
	err = q.EachOf(sql, func(db.Rows) error {
		n++
		return nil
	})
	return n, err
}
