package concurrent_test

import (
	"fmt"
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// twoNodes is a tenant on a store that two nodes serve, and its owner at each.
func twoNodes(t *testing.T, store dbtest.Store) (*servertest.Tenant, [2]*servertest.Client) {
	t.Helper()
	x := servertest.Start(t, store).Tenant(t)
	elsewhere := x.Owner.On(t)
	elsewhere.Node = servertest.Start(t, store)
	return x, [2]*servertest.Client{x.Owner, elsewhere}
}

func TestEqualRequestsToTwoNodesHappenOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		x, clients := twoNodes(t, store)
		for round := range 5 {
			name := fmt.Sprintf("round-%d", round)
			oneEntry(t, x.Node, name, servertest.SideBySide(8, func(i int) *servertest.Answer {
				return once(clients[i%2], name, "POST", "/v1/directory", person(x, name))
			}))
		}
		t.Run("also where the loser would have failed by itself", func(t *testing.T) {
			for round := range 5 {
				slug := fmt.Sprintf("slug-%d", round)
				answers := servertest.SideBySide(2, func(i int) *servertest.Answer {
					return once(clients[i].On(t), slug, "POST", "/v1/workspaces", body{"name": slug, "slug": slug, "organization_id": x.OrganizationID})
				})
				if got := servertest.Statuses(answers); got["200"] != 2 {
					t.Errorf("answered %v", got)
				}
			}
		})
	})
}

// waiting counts the sessions of PostgreSQL that wait for one, at first or second hand.
const waiting = `WITH next AS (SELECT pid FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid)))
	SELECT count(*) FROM pg_stat_activity a
	WHERE a.pid IN (SELECT pid FROM next) OR EXISTS (SELECT 1 FROM next WHERE next.pid = ANY (pg_blocking_pids(a.pid)))`

// heldUp begins requests one after the other while a transaction locks something, each once the earlier ones are in the middle of their
// transactions. Then the transaction does the rest, if there is any, and commits.
func heldUp(t *testing.T, n *servertest.Node, lock string, rest func(tx *db.Tx) error, requests ...func() *servertest.Answer) []*servertest.Answer {
	t.Helper()
	answers := make([]*servertest.Answer, len(requests))
	var done sync.WaitGroup
	_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("a test holds a lock")
		if err := tx.Exec(lock); err != nil {
			return struct{}{}, exempt, err
		}
		var pid int
		if _, err := tx.Row(`SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return struct{}{}, exempt, err
		}
		for i, request := range requests {
			done.Go(func() { answers[i] = request() })
			wait.Until(t, "the request waits", func() bool { return n.Count(t, waiting, pid) > i })
		}
		if rest == nil {
			return struct{}{}, exempt, nil
		}
		return struct{}{}, exempt, rest(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	done.Wait()
	return answers
}

// lockWorkspace is a lock that holds up requests that change a workspace's members.
func lockWorkspace(x *servertest.Tenant) string {
	return `UPDATE workspace SET name = name WHERE id = '` + x.WorkspaceID + `'`
}

func TestNodeThatLosesTheRaceGivesTheWinnersAnswer(t *testing.T) {
	t.Parallel()
	x, clients := twoNodes(t, dbtest.Postgres(t))
	request := body{"email": servertest.NewEmail(), "role": "viewer"}
	raced := func(c *servertest.Client) func() *servertest.Answer {
		return func() *servertest.Answer { return once(c, "raced", "POST", x.Path("/members"), request) }
	}
	answers := heldUp(t, x.Node, lockWorkspace(x), nil, raced(clients[0]), raced(clients[1]))
	if got := servertest.Statuses(answers); got["200"] != 2 || string(answers[0].Body) != string(answers[1].Body) {
		t.Errorf("answered %v: %s and %s", got, answers[0].Body, answers[1].Body)
	}
	replays := 0
	for _, a := range answers {
		if a.Header.Get("Idempotent-Replayed") == "true" {
			replays++
		}
	}
	if rows := x.Audit("&action=iam.member.added"); replays != 1 || len(rows) != 1 {
		t.Errorf("%d answers were replays, %d rows were written", replays, len(rows))
	}
}

// An answer that is a day old is not given again: what comes with its key is done
// again, once, whichever node hears of it.
func TestKeyWhoseTimeIsOverIsGoodForOneMore(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	x, clients := twoNodes(t, store)
	path := "/v1/workspaces/" + x.WorkspaceID
	for round := range 5 {
		key := fmt.Sprint("key-", round)
		once(clients[0], key, "PATCH", path, body{"name": "First " + key}).OK()
		_, err := db.Write(t.Context(), x.Node.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), tx.Exec(`UPDATE idempotency SET created_at = created_at - 90000000`)
		})
		if err != nil {
			t.Fatal(err)
		}
		second := func(c *servertest.Client) func() *servertest.Answer {
			return func() *servertest.Answer { return once(c, key, "PATCH", path, body{"name": "Second " + key}) }
		}
		answers := heldUp(t, x.Node, lockWorkspace(x), nil, second(clients[0]), second(clients[1]))
		if got := servertest.Statuses(answers); got["200"] != 2 {
			t.Errorf("answered %v", got)
		}
	}
}
