package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// A node that does not run for a while, such as in a machine that is paused, has not heard what other nodes have ended meanwhile.
func TestANodeThatWasStoppedRemembersNoAccess(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	made := initialise(t, store)
	nodes := []*process{startNode(t, store), startNode(t, store)}
	admin := servertest.Remote(t, nodes[0].URL, made).Admin(t)
	for range 3 {
		key := admin.Post("/v1/api-keys", servertest.Body{"name": "revoked meanwhile"}).OK()
		guest := servertest.Remote(t, nodes[1].URL, made).Login(t, key.Text("api_key"))
		for range 3 {
			guest.Get("/v1/workspaces").OK() // which the node remembers
		}
		nodes[1].signal(t, syscall.SIGSTOP)
		admin.Delete("/v1/api-keys/" + key.Text("id")).OK()
		at := time.Now()
		wait.Until(t, "a second has passed, in which every node has to hear of it", func() bool { return time.Since(at) > time.Second })
		answers := servertest.SideBySide(17, func(i int) *servertest.Answer {
			if i == 0 {
				nodes[1].signal(t, syscall.SIGCONT)
			}
			return guest.Get("/v1/workspaces")
		})
		if got := servertest.Statuses(answers); got["401 UNAUTHORIZED"] != len(answers) {
			t.Errorf("answered %v", got)
		}
	}
	for _, p := range nodes {
		p.terminate(t)
	}
}
