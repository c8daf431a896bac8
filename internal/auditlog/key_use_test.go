package auditlog_test

import (
	"slices"
	"testing"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
	"bursar/internal/server/servertest"
)

func TestTheLogListsExactlyWhatWasDoneWithAKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "stolen", Scope: audit.Scope{Administer: true}})
		if err != nil {
			t.Fatal(err)
		}
		thief := n.Login(t, secret)
		tag := func(c *servertest.Client) string {
			return c.Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": servertest.NewEmail()}).OK().Text("id")
		}
		tag(x.Owner) // with another key of the same person
		tag(n.Person(t, x.Owner))
		var want []string
		want = append(want, tag(thief))
		want = append(want, tag(n.Login(t, thief.Post("/v1/api-keys", body{"name": "child"}).OK().Text("api_key"))))
		clientID, _, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "Robot", "admin")
		if err != nil {
			t.Fatal(err)
		}
		stolen := thief.Post(x.Path("/clients/"+clientID+"/rotate"), nil).OK().Text("secret")
		want = append(want, clientID, tag(n.Holder(t, n.Exchange(t, servertest.Basic(clientID, stolen)).OK().Text("token"))))
		own := n.Person(t, x.Owner).Post(x.Path("/clients/"+clientID+"/rotate"), nil).OK().Text("secret") // which ends the stolen one
		tag(n.Holder(t, n.Exchange(t, servertest.Basic(clientID, own)).OK().Text("token")))
		next := n.Login(t, thief.Post("/v1/api-keys/"+key+"/rotate", body{"grace_seconds": 0}).OK().Text("api_key"))
		want = append(want, tag(next))
		slices.Reverse(want)

		path := x.AuditPath() + "&key_id=" + key
		got := func(path string) []string { return x.Owner.Get(path).OK().Column("resource_id") }
		if list := got(path); !slices.Equal(list, want) {
			t.Errorf("listed are %v, want %v", list, want)
		}
		if list := got(path + "&action=directory.tag.created&actor=" + x.Owner.UserID); len(list) != 3 {
			t.Errorf("of the owner there are %v", list)
		}
		if list := got(x.OrganizationAuditPath() + "&limit=100&key_id=" + key); len(list) == 0 || slices.Contains(list, x.OrganizationID) {
			t.Errorf("of the organization there are %v", list)
		}
		n.SequenceAudit(t)
		feed := servertest.Decoded[api.AuditFeed](x.Owner.Get("/v1/audit/feed?after=0&workspace_id=" + x.WorkspaceID + "&key_id=" + key))
		var followed []string
		for _, row := range feed.Entries {
			followed = append([]string{row.ResourceID}, followed...)
		}
		if !slices.Equal(followed, want) {
			t.Errorf("the feed has %v, want %v", followed, want)
		}
		for _, none := range []string{"key_nothing", n.Tenant(t).Owner.Get("/v1/api-keys").OK().Column("id")[0]} {
			if list := got(x.AuditPath() + "&key_id=" + none); len(list) != 0 {
				t.Errorf("of %s there are %v", none, list)
			}
		}
	})
}

func TestAKeyWithVeryManyDependentsIsStillListed(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		key, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, x.Owner.Email(), identity.NewKey{Name: "first"})
		if err != nil {
			t.Fatal(err)
		}
		tag := n.Login(t, secret).Post("/v1/directory/tags", body{"workspace_id": x.WorkspaceID, "name": "first"}).OK().Text("id")
		_, err = db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			var rows [][]any
			for range 4001 {
				id := tx.NewID("key")
				rows = append(rows, []any{id, x.Owner.UserID, "more", id, "", "", false, key, tx.Now()})
			}
			return struct{}{}, audit.None("a test"), tx.InsertRows(`INSERT INTO api_key (id, account_id, name, hash, scope, allowed_cidrs, one_factor, parent_id,
				created_at) VALUES `, `($1, $2, $3, $4, $5, $6, $7, $8, $9)`, rows)
		})
		if err != nil {
			t.Fatal(err)
		}
		if list := x.Owner.Get(x.AuditPath() + "&key_id=" + key).OK().Column("resource_id"); !slices.Equal(list, []string{tag}) {
			t.Errorf("listed are %v, want %v", list, tag)
		}
	})
}
