package directory_test

import (
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// Anyone who may change entries but not read them learns nothing of them by rehearsing a merge, by
// counting what matches, or by matching accounts.
func TestCallersWhoCannotReadTheDirectoryLearnNothingAboutIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		target := x.Owner.Entry(body{"name": "Ada", "fields": body{"salary": "1000"}})
		source := x.Owner.Entry(body{"name": "Ada L.", "fields": body{"phone": "+442079460958"}})
		x.Define("blind", "ws.read", "ws.directory.write")
		blind := x.Member("blind")
		blind.Post(mergePath(target), body{"sources": []string{source}, "dry_run": true}).Fails(403, "FORBIDDEN")
		for _, id := range []string{target, source} {
			x.Owner.AddMethod(id, servertest.Account("SHARED-1234"))
		}
		blind.Bulk("activate", body{"filter": body{"q": "1000"}}).Fails(403, "FORBIDDEN")
		if got := servertest.Changed(blind.Bulk("activate", body{"ids": []string{target}}).OK()); got != "completed 0 1 0" {
			t.Errorf("a bulk by id: %s", got)
		}
		started := blind.Stream("POST", "/v1/directory/imports?match=account&workspace_id="+x.WorkspaceID,
			strings.NewReader("type,name,method.provider,method.account_name,method.account_id\nperson,A,bank,A,SHARED-1234\nperson,B,bank,B,UNKNOWN-1\n")).OK()
		n.RunImports(t)
		refused := string(blind.Get("/v1/directory/imports/" + started.Text("id") + "/refused").Body)
		if strings.Contains(refused, "more than one") || strings.Count(refused, "ws.receiving.write") != 2 {
			t.Errorf("the refused lines are %s", refused)
		}
	})
}
