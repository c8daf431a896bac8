package identity_test

import (
	"encoding/base64"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

// meanwhile changes the members of the workspace after a request was authorized and before its transaction.
func (p *place) meanwhile(sql string, args []any, send func() error) error {
	p.t.Helper()
	return servertest.WhileUnderWay(p.t, p.db, func(tx *db.Tx) error {
		if _, _, err := access.LockMembers(tx, p.workspaceID); err != nil {
			return err
		}
		return tx.Exec(sql, args...)
	}, send)
}

// The secret of a machine client may be replaced a moment after it was checked. No one would end a session that began with it then.
func TestASecretThatIsReplacedMeanwhileBeginsNoSession(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		client := p.client("Payroll", "viewer")
		login := func() error {
			header := "Basic " + base64.StdEncoding.EncodeToString([]byte(client.ID+":"+client.Secret))
			_, err := n.Exchange(t.Context(), db.Caller{}, identity.ExchangeInput{Authorization: header})
			return err
		}
		must(t, login())
		refused(t, p.meanwhile(`UPDATE account SET secret_hash = 'another' WHERE id = $1`, []any{client.ID}, login), api.CodeUnauthorized)
	})
}

// The creator of a workspace gave themselves their membership. If they have to agree to it again, it does not end with the invitations that
// they made.
func TestACreatorKeepsTheirOwnInvitation(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place().another()
		guest := n.person("guest@example.com")
		p.change(func(tx *db.Tx) error {
			if _, err := access.Invite(tx, p.workspaceID, guest, "viewer", "Admin"); err != nil {
				return err
			}
			return access.NoteOrigin(tx, p.admin.Actor, p.workspaceID, guest)
		})
		p.change(func(tx *db.Tx) error { return access.AskAgain(tx, p.admin.ID) })
		_, err := n.DisableUser(t.Context(), db.Caller{}, "admin@example.com")
		must(t, err)
		for id, want := range map[string]bool{p.admin.ID: true, guest: false} {
			must(t, n.db.Read(t.Context(), func(q db.Q) error {
				member, found, err := access.MemberOf(q, p.workspaceID, id)
				if found != want || !member.Invited {
					t.Errorf("%s is %+v, %t", id, member, found)
				}
				return err
			}))
		}
	})
}

func TestNoSecretIsMadeByWhoLosesAccessMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, n *node) {
		p := n.place()
		client := p.client("Payroll", "viewer")
		p.define("keys", "ws.read", "ws.members.read", "ws.directory.read", "ws.payouts.read", "ws.accounts.read", "ws.keys.read", "ws.keys.write")
		by := p.holder("keys")
		for name, send := range map[string]func() error{
			"make a client": func() error {
				_, err := p.create(by, "Escape", "viewer")
				return err
			},
			"rotate a client": func() error {
				_, err := p.rotate(by, client.ID)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				must(t, send())
				err := p.meanwhile(`DELETE FROM member_role WHERE workspace_id = $1 AND account_id = $2`, []any{p.workspaceID, by.ID}, send)
				refused(t, err, api.CodeForbidden)
				p.change(func(tx *db.Tx) error { return access.Grant(tx, p.workspaceID, by.ID, "keys") })
			})
		}
		t.Run("nor for a client that is given more meanwhile", func(t *testing.T) {
			p := p.in(t)
			refused(t, p.meanwhile(`INSERT INTO member_role (workspace_id, account_id, role, granted_at, not_before) VALUES ($1, $2, 'disbursement_manager', 0, 0)`,
				[]any{p.workspaceID, client.ID}, func() error {
					_, err := p.rotate(by, client.ID)
					return err
				}), api.CodeForbidden)
		})
	})
}
