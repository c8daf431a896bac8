package identity

import (
	"context"
	"iter"

	"bursar/internal/db"
)

// User is a person as shown to an operator.
type User struct {
	ID         string `json:"id"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	CreatedAt  int64  `json:"created_at"`
	LastUsedAt int64  `json:"last_used_at,omitempty"` // 0 if the account was never used
}

// usersPage is the number of users read at a time, so that a long list does not keep a transaction open.
const usersPage = 200

// Users lists the people of the store, oldest first.
func (s *Service) Users(ctx context.Context) iter.Seq2[User, error] {
	return func(yield func(User, error) bool) {
		last := ""
		for {
			var page []User
			err := s.db.Read(ctx, func(q db.Q) (err error) {
				page, err = usersAfter(q, last)
				return err
			})
			if err != nil {
				yield(User{}, err)
				return
			}
			for _, u := range page {
				if !yield(u, nil) {
					return
				}
				last = u.ID
			}
			if len(page) < usersPage {
				return
			}
		}
	}
}

func usersAfter(q db.Q, id string) ([]User, error) {
	return db.Collect(q, func(r db.Rows) User {
		return User{ID: r.Text(0), Email: r.Text(1), Name: r.Text(2), Status: r.Text(3), CreatedAt: r.Int(4), LastUsedAt: r.Int(5)}
	}, `SELECT id, email, name, status, created_at, last_used_at FROM account WHERE id > $1 AND kind = $2 ORDER BY id LIMIT $3`,
		id, kindPerson, usersPage)
}
