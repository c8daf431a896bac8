package e2e_test

import (
	"testing"
	"time"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
	"bursar/internal/wait"
)

// A node that has asked the old primary about access must not remember it under the new one.
func TestRevokedAccessEndsAtAllNodesAfterThePrimaryDied(t *testing.T) {
	t.Parallel()
	pair := dbtest.Pair(t)
	store := dbtest.Store{Engine: "postgres", Config: db.Config{URL: pair.URL()}, VaultKey: vaultKey}
	made := initialise(t, store)
	nodes := []*process{startNode(t, store), startNode(t, store)}
	admin := servertest.Remote(t, nodes[0].URL, made).Admin(t)
	for range torture.Rounds(1, 20) {
		key := admin.Post("/v1/api-keys", servertest.Body{"name": "revoked after a failover"}).OK()
		guest := servertest.Remote(t, nodes[1].URL, made).Login(t, key.Text("api_key"))
		guest.Get("/v1/workspaces").OK() // from now on the node remembers the guest
		err := pair.FailOver(t.Context(), func() {
			admin.Delete("/v1/api-keys/" + key.Text("id")).OK()
			at := time.Now()
			wait.Until(t, "the other node refuses the guest", func() bool { return guest.Get("/v1/workspaces").Status == 401 })
			t.Logf("it took %v", time.Since(at).Round(time.Millisecond))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range nodes {
		p.terminate(t)
	}
}
