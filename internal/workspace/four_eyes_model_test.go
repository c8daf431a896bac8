package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bursar/internal/access"
	"bursar/internal/server/servertest"
	"bursar/internal/torture"
)

// One person, who is an admin beside an honest one and has as many mailboxes as they like, does whatever an admin can do alone, in any
// order. For 72 hours after the honest one has gone, nothing that they request is approved by anyone but the honest one, and nothing goes
// through without approval.
func TestNoSequenceOfOnePersonsOperationsMakesThemTwoOrOne(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		for seed := range uint64(torture.Rounds(10, 200)) {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { attackFourEyes(t, n, seed) })
		}
	})
}

func attackFourEyes(t *testing.T, n *servertest.Node, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 31))
	x := n.Tenant(t)
	honest := x.Member("admin")
	n.Clock.Advance(2 * day)
	mallory := x.Owner.On(t).Again(t)
	x.Owner = mallory
	x.Define("own", "ws.read", "ws.payouts.read", "ws.directory.read", "ws.receiving.read")
	var story []string
	puppets := []*servertest.Client{}
	var removedAt int64
	for range 14 {
		what, hours := "", 0
		switch random.IntN(8) {
		case 0:
			email := servertest.NewEmail()
			role := []string{"admin", "disbursement_authorizer", "directory_manager", "own"}[random.IntN(4)]
			puppet, added := n.User(t, email), mallory.Post(x.Path("/members"), body{"email": email, "role": role})
			if what = "invites a puppet as " + role; added.Status == 200 {
				puppet.Join(added.Text("user_id"))
				puppets = append(puppets, puppet)
			}
		case 1:
			what = "removes the honest one"
			if mallory.Delete(x.Path("/members/"+honest.UserID)).Status == 200 {
				removedAt = n.DB.Now()
			}
		case 2:
			what = "takes the role of the honest one"
			if mallory.Delete(x.Path("/roles/"+honest.UserID+"/admin")).Status == 200 {
				removedAt = n.DB.Now()
			}
		case 3:
			what = "widens a role"
			mallory.Put(x.Path("/roles/own"), body{"name": "Own", "permissions": []string{"ws.read", "ws.payouts.read", "ws.payouts.approve", "ws.directory.read",
				"ws.receiving.read", "ws.receiving.approve"}})
		case 4:
			what = "loosens the policy"
			mallory.Patch(x.Path("/receiving-policy"), body{"receiving_approval": "one_person", "receiving_cooling_hours": 1, "second_person_hours": 1})
		case 5:
			if what = "gives a puppet a role"; len(puppets) > 0 {
				mallory.Post(x.Path("/roles"), body{"user_id": puppets[random.IntN(len(puppets))].UserID, "role": "admin"})
			}
		case 6:
			if what = "removes a puppet"; len(puppets) > 0 {
				mallory.Delete(x.Path("/members/" + puppets[random.IntN(len(puppets))].UserID))
			}
		case 7:
			hours = random.IntN(30)
			what = fmt.Sprint("waits ", hours, " hours")
		}
		story = append(story, what)
		if removedAt != 0 && n.DB.Now()+int64(hours)*time.Hour.Milliseconds() >= removedAt+(71*time.Hour).Milliseconds() {
			break // from then on they are alone, as everyone was told
		}
		n.Clock.Advance(time.Duration(hours) * time.Hour)
		mallory = mallory.Again(t)
		x.Owner = mallory
		for _, pair := range access.Pairs() {
			p := secondPerson(t, x, pair)
			if !p.Demanded() {
				t.Fatalf("mallory is one, seed %d: %q", seed, story)
			}
			for _, puppet := range puppets {
				if p.Counts(puppet.UserID, "", n.DB.Now()) {
					t.Fatalf("mallory is two, seed %d: %q", seed, story)
				}
			}
		}
		if hours > 0 || random.IntN(3) > 0 {
			continue
		}
		asker := mallory
		asked := asker.Post("/v1/directory/"+x.Entry("Payee")+"/receiving-methods", servertest.Account("1")).OK().Text("approval_id")
		if asked == "" {
			t.Fatalf("a change goes through, seed %d: %q", seed, story)
		}
		for _, puppet := range append(puppets, mallory) {
			who := n.Person(t, puppet.On(t).Again(t))
			if shown := who.Get("/v1/approvals/" + asked); shown.Status == 200 {
				answer := who.Post("/v1/approvals/"+asked+"/approve", body{"digest": shown.Text("digest"), "verification": "none"})
				if answer.Status == 200 {
					t.Fatalf("a puppet approves, seed %d: %q", seed, story)
				}
			}
		}
	}
}
