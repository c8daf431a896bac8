package approval_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/server/servertest"
)

// Anyone who asked for a number does not approve it because a colleague changed something else of it
// meanwhile. Once the colleague has put in another number, it is theirs.
func TestNoOneApprovesTheirOwnNumberAfterAColleaguesEdit(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		for _, edit := range []body{{"institution_code": "GXCHPHM2XXX"}, {"is_default": true}, {"account_id": "1-1", "account_name": "Ada L."}} {
			method, _ := add(maker, entry, "11")
			edited := second.Patch(methods(entry)+"/"+method, edit).OK()
			n.Person(t, maker).Approve(edited.Text("approval_id")).Fails(403, "FORBIDDEN")
			edited = second.Patch(methods(entry)+"/"+edited.Text("id"), body{"provider": "wallet"}).OK()
			n.Person(t, maker).Approve(edited.Text("approval_id")).Fails(403, "FORBIDDEN")
			edited = second.Patch(methods(entry)+"/"+edited.Text("id"), body{"account_id": "22"}).OK()
			n.Person(t, maker).Approve(edited.Text("approval_id")).OK()
			maker.Delete(methods(entry) + "/" + edited.Text("id")).OK()
		}
	})
}

// What was approved beside a default is not the default because the default was removed.
func TestRemovingTheDefaultMakesNoOtherOneIt(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		maker, entry := x.Owner, x.Entry("Ada")
		first := maker.AddMethod(entry, servertest.Account("1"))
		second := n.Person(t, x.Member("admin"))
		_, id := add(maker, entry, "2")
		maker.Delete(methods(entry) + "/" + first).OK()
		second.Approve(id).OK()
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		expect(t, "paid", paid(maker, entry), "2")
	})
}

// A payee that is called something else by now is not the one that was shown.
func TestARenamedPayeeIsNotTheOneThatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		entry := x.Entry("Ada")
		_, id := add(maker, entry, "1")
		digest := second.Get("/v1/approvals/" + id).OK().Text("digest")
		maker.Patch("/v1/directory/"+entry, body{"name": "Water works"}).OK()
		second.Post("/v1/approvals/"+id+"/approve", body{"digest": digest, "verification": "called"}).Fails(422, "APPROVAL_CHANGED")
		maker.Post("/v1/approvals/"+id+"/withdraw", nil).OK()
	})
}

// A new approver's time begins when they may approve, also where no one asks for anything meanwhile.
func TestTheTimeOfANewApproverBeginsAtOnce(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		_, id := add(maker, x.Entry("Ada"), "1")
		x.Define("clerk", "ws.read", "ws.directory.read", "ws.receiving.read")
		invited, granted, redefined := x.Member("disbursement_authorizer"), x.Member("viewer"), x.Member("clerk")
		agreed(second, maker.Post(x.Path("/roles"), body{"user_id": granted.UserID, "role": "disbursement_authorizer"}))
		agreed(second, maker.Put(x.Path("/roles/clerk"), body{"name": "Clerk", "permissions": []string{"ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve"}}))
		for _, c := range []*servertest.Client{invited, granted, redefined} {
			n.Person(t, c).Approve(id).Fails(403, "FORBIDDEN")
		}
		n.Clock.Advance(day + time.Second)
		for _, c := range []*servertest.Client{invited, granted, redefined} {
			again(t, c)
			if shown := servertest.Decoded[api.Approval](n.Person(t, c).Get("/v1/approvals/" + id)); !shown.CanApprove {
				t.Errorf("%s does not count after a day: %s", c.UserID, shown.CannotBecause)
			}
		}
	})
}

// Anyone who sent a held file, or said in a rehearsal what its columns mean, is no second person for
// its accounts because a colleague has started it.
func TestTheUploaderDoesNotApproveAFileThatAColleagueStarted(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		sender, rehearser, starter, second := x.Owner, x.Member("admin"), x.Member("admin"), x.Member("admin")
		x.EverybodyCounts()
		held := sender.Do(http.MethodPost, "/v1/directory/imports?"+servertest.Query("workspace_id", x.WorkspaceID, "hold", "true"),
			accountHeader+"person,Ada,E-1,bank,Ada,ACCOUNT-A,\n", "Content-Type", "text/csv").OK()
		start := "/v1/directory/imports/" + held.Text("id") + "/start"
		rehearser.Post(start, body{"dry_run": true, "match": "external_id"}).OK()
		n.RunImports(t)
		starter.Post(start, body{}).OK()
		n.RunImports(t)
		asked := waiting(starter)
		if len(asked) != 1 {
			t.Fatalf("%v wait", asked)
		}
		for _, c := range []*servertest.Client{sender, rehearser, starter} {
			n.Person(t, c).Approve(asked[0]).Fails(403, "FORBIDDEN")
		}
		n.Person(t, second).Approve(asked[0]).OK()
	})
}

// Which of several methods becomes the default does not depend on the order in which those that
// were moved are approved, and none of them takes the place of a default that was not shown.
func TestWhatWasMovedIsTheDefaultOnlyIfThatWasShown(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		maker := x.Owner
		restored, source, target := x.Entry("Ada"), x.Entry("Bob"), x.Entry("Bob B.")
		for _, entry := range []string{restored, source} {
			maker.AddMethod(entry, servertest.Account("MAIN"))
			maker.AddMethod(entry, servertest.Account("OTHER"))
		}
		second := n.Person(t, x.Member("admin"))
		maker.Delete("/v1/directory/" + restored).OK()
		maker.Post("/v1/directory/"+restored+"/restore", nil).OK()
		maker.Post("/v1/directory/"+target+"/merge", body{"sources": []string{source}}).OK()
		approvals := func(entry string) map[string]string {
			found := map[string]string{}
			for _, m := range servertest.Decoded[[]api.ReceivingMethod](maker.Get(methods(entry))) {
				found[m.AccountID] = m.ApprovalID
			}
			return found
		}
		for _, entry := range []string{restored, target} {
			second.Approve(approvals(entry)["OTHER"]).OK()
		}
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		second = n.Person(t, second.Again(t))
		for _, entry := range []string{restored, target} {
			expect(t, "paid before the default is approved", paid(maker, entry), "OTHER")
		}
		second.Approve(approvals(target)["MAIN"]).OK()
		added := maker.Post(methods(restored), servertest.Account("NEW", body{"is_default": true})).OK()
		second.Approve(added.Text("approval_id")).OK()
		n.Clock.Advance(day + time.Second)
		again(t, maker)
		second = n.Person(t, second.Again(t))
		expect(t, "paid after the merge", paid(maker, target), "MAIN* OTHER")
		expect(t, "paid after the restoration", paid(maker, restored), "OTHER NEW*")
		second.Approve(approvals(restored)["MAIN"]).Fails(422, "APPROVAL_CHANGED") // it was asked for where there was no default
	})
}

// The number to call back is one that the payee had, not one of an entry that was merged into it.
func TestAMergeCannotPlantTheNumberToCallBack(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, maker, second := n.Pair(t)
		payee, decoy := x.Entry("Ada"), x.Entry("Ada L.")
		for _, phone := range []string{"+442079460001", "+442079460002"} {
			maker.Patch("/v1/directory/"+decoy, body{"fields": body{"phone": phone, "mobile": phone}}).OK()
		}
		maker.Patch("/v1/directory/"+payee, body{"fields": body{"phone": "+442079460958"}}).OK()
		n.Clock.Advance(31 * day) // what the payee has is no news
		again(t, maker)
		for _, phone := range []string{"+442079460003", "+442079460004"} {
			maker.Patch("/v1/directory/"+decoy, body{"fields": body{"phone": phone, "mobile": phone}}).OK()
		}
		maker.Post("/v1/directory/"+payee+"/merge", body{"sources": []string{decoy}}).OK()
		_, id := add(maker, payee, "1")
		shown := servertest.Decoded[api.Approval](n.Person(t, second.Again(t)).Get("/v1/approvals/" + id))
		expect(t, "contacts", fmt.Sprint(shown.Contacts), "[{phone +442079460958 } {mobile +442079460004 }]")
	})
}

// What was asked for because of a merge does not go on to wait when the merge is undone by one who
// needs no one else any more.
func TestAnUndoneMergeLeavesNothingWaiting(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.FirstTenant(t)
		maker, target, source := x.Owner, x.Entry("Ada"), x.Entry("Ada L.")
		maker.AddMethod(source, servertest.Account("1"))
		second := n.Person(t, x.Member("admin"))
		merged := maker.Post("/v1/directory/"+target+"/merge", body{"sources": []string{source}}).OK().Text("id")
		second.Approve(maker.Patch(x.Path("/receiving-policy"), body{"receiving_approval": "one_person"}).OK().Text("approval_id")).OK()
		maker.Post("/v1/directory/merges/"+merged+"/undo", nil).OK()
		expect(t, "paid", paid(maker, source), "1*")
		expect(t, "what waits", fmt.Sprint(waiting(maker)), "[]")
	})
}
