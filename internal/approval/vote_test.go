package approval_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/server/servertest"
	"bursar/internal/web"
)

// ballot is a service with a kind of approvals of its own, about payouts.
type ballot struct {
	*approval.Service
	n      *servertest.Node
	x      *servertest.Tenant
	who    *identity.Service // as the server has it, so that it knows the sessions
	broken error             // of carrying it out
}

func newBallot(t *testing.T, n *servertest.Node) *ballot {
	t.Helper()
	authority := access.NewAuthority(n.DB)
	b := &ballot{Service: approval.New(n.DB, n.Vault, authority, web.NewCursors(nil), nil, nil, ""), n: n, x: n.Tenant(t)}
	b.who = identity.New(n.DB, n.Vault, web.NewCursors(nil), identity.Config{PublicURL: n.PublicURL})
	none := func(*db.Tx, approval.Approval) (audit.Changes, string, error) { return nil, "a payout", nil }
	b.Register(approval.Kind{
		Name: "ballot", Read: access.PayoutsRead, Make: access.PayoutsCreate, Pair: access.Payouts, Mail: mail.APayout,
		Actions: approval.Actions(audit.PayoutRuleApproved, audit.PayoutRuleRejected, audit.PayoutRuleWithdrawn, audit.PayoutRuleExpired),
		Lock:    func(*db.Tx, approval.Approval) error { return nil },
		Apply: func(*db.Tx, approval.Approval) (audit.Changes, string, error) {
			return nil, "a payout", b.broken
		},
		Drop: none,
		Show: func(approval.Approval, bool) (string, []api.ApprovalField, error) { return "A payout", nil, nil },
	})
	return b
}

// caller is who a session is of, as the server finds out.
func (b *ballot) caller(c *servertest.Client) db.Caller {
	c.T().Helper()
	actor, err := b.who.Authenticate(c.T().Context(), "Bearer "+c.Token, func() error { return nil })
	if err != nil {
		c.T().Fatal(err)
	}
	return db.Caller{Actor: actor}
}

// ask asks for something that takes votes.
func (b *ballot) ask(t *testing.T, maker *servertest.Client, r approval.Request) (id, subject string) {
	t.Helper()
	r.Kind, r.WorkspaceID, r.SubjectID, r.Version, r.Payload = "ballot", b.x.WorkspaceID, b.n.DB.NewID("po"), 1, map[string]int{"amount": 100}
	by := b.caller(maker)
	var number int64
	err := b.n.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT number FROM workspace WHERE id = $1`, b.x.WorkspaceID).Scan(&number)
		return err
	})
	if err == nil {
		err = b.n.Vault.Ready(t.Context(), number)
	}
	r.Workspace = number
	if err == nil {
		id, err = db.Write(t.Context(), b.n.DB, by, func(tx *db.Tx) (string, audit.Event, error) {
			id, err := b.Make(tx, by, r)
			return id, audit.None("a test"), err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, r.SubjectID
}

// vote approves what is shown.
func (b *ballot) vote(c *servertest.Client, id string) (api.Approval, error) {
	by := b.caller(c)
	shown, err := b.Get(c.T().Context(), by, approval.Input{ID: id})
	if err != nil {
		return shown, err
	}
	return b.Approve(c.T().Context(), by, approval.ApproveInput{ID: id, ApprovalApprove: api.ApprovalApprove{Digest: shown.Digest, Verification: "compared"}})
}

func code(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return string(f.Code)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestTheLastVoteCarriesOut(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		maker := b.x.Owner
		first, second := n.Person(t, b.x.Member("disbursement_authorizer")), n.Person(t, b.x.Member("disbursement_authorizer"))
		b.x.EverybodyCounts()
		id, subject := b.ask(t, maker, approval.Request{Needed: 2})
		one, err := b.vote(first, id)
		if err != nil || one.State != api.ApprovalPending || one.ApprovalsNeeded != 2 || len(one.Approvals) != 1 || one.Approvals[0].ID != first.UserID || one.CanApprove {
			t.Fatalf("after one vote: %+v, %v", one, err)
		}
		if _, err := b.vote(first, id); code(err) != "FORBIDDEN" || !strings.Contains(err.Error(), "already") {
			t.Errorf("the same person twice: %v", err)
		}
		b.broken = fault.New(api.CodeInsufficientFunds, "too little")
		if _, err := b.vote(second, id); code(err) != "INSUFFICIENT_FUNDS" {
			t.Errorf("what cannot be carried out: %v", err)
		}
		b.broken = nil
		if shown, err := b.Get(t.Context(), b.caller(second), approval.Input{ID: id}); err != nil || len(shown.Approvals) != 1 || !shown.CanApprove {
			t.Errorf("after the fault: %+v, %v", shown, err)
		}
		two, err := b.vote(second, id)
		if err != nil || two.State != api.ApprovalApproved || len(two.Approvals) != 2 || two.DecidedBy.ID != second.UserID {
			t.Errorf("after two votes: %+v, %v", two, err)
		}
		if got := n.Audited(t, subject); !slices.Equal(got, []string{"payout.rule.approved", "payout.rule.approved"}) {
			t.Errorf("the log tells %v", got)
		}
		// One rejection ends it, whoever has approved.
		id, _ = b.ask(t, maker, approval.Request{Needed: 2})
		if _, err := b.vote(first, id); err != nil {
			t.Fatal(err)
		}
		if done, err := b.Reject(t.Context(), b.caller(second), approval.RejectInput{ID: id, ApprovalReject: api.ApprovalReject{Reason: "no"}}); err != nil || done.State != api.ApprovalRejected {
			t.Errorf("rejected: %+v, %v", done, err)
		}
		if _, err := b.vote(second, id); code(err) != "APPROVAL_DECIDED" {
			t.Errorf("approving what was rejected: %v", err)
		}
	})
}

// Who may be a second person for a payout, by how they are signed in and what they have to do with it.
func TestWhoMayVote(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		x, owner := b.x, b.x.Owner
		key, colleague := x.Member("disbursement_authorizer"), x.Member("admin") // sessions of keys
		person, admin := n.Person(t, key), n.Person(t, colleague)
		manager := n.Person(t, x.Member("disbursement_manager"))
		x.EverybodyCounts()
		client := func(maker, role string) *servertest.Client {
			by := db.Caller{}
			by.ID = maker
			id, secret, err := n.Identity.CreateClient(t.Context(), by, x.WorkspaceID, "Robot", role)
			if err != nil {
				t.Fatal(err)
			}
			return n.Holder(t, n.Exchange(t, servertest.Basic(id, secret)).OK().Text("token"))
		}
		for name, c := range map[string]struct {
			maker, voter *servertest.Client
			need         approval.Request
			want         string
		}{
			"another person":                           {owner, person, approval.Request{}, ""},
			"an admin":                                 {owner, admin, approval.Request{}, ""},
			"the maker":                                {n.Person(t, colleague), admin, approval.Request{}, "FORBIDDEN"},
			"the owner of the key that was used":       {colleague, admin, approval.Request{}, "FORBIDDEN"},
			"who made the client":                      {client(colleague.UserID, "disbursement_manager"), admin, approval.Request{}, "FORBIDDEN"},
			"somebody else for a client":               {client(colleague.UserID, "disbursement_manager"), person, approval.Request{}, ""},
			"somebody without the permission":          {owner, manager, approval.Request{}, "FORBIDDEN"},
			"a machine client":                         {owner, client(colleague.UserID, "admin"), approval.Request{KeysMay: true}, "FORBIDDEN"},
			"a key":                                    {owner, key, approval.Request{}, "FORBIDDEN"},
			"a key where keys may":                     {owner, key, approval.Request{KeysMay: true}, ""},
			"the maker's own key where keys may":       {n.Person(t, colleague), colleague, approval.Request{KeysMay: true}, "FORBIDDEN"},
			"somebody with the role":                   {owner, person, approval.Request{Role: "disbursement_authorizer"}, ""},
			"an admin without the role":                {owner, admin, approval.Request{Role: "disbursement_authorizer"}, "FORBIDDEN"},
			"a key with the role where keys may":       {owner, key, approval.Request{Role: "disbursement_authorizer", KeysMay: true}, ""},
			"a key of an admin without the role, too":  {owner, colleague, approval.Request{Role: "disbursement_authorizer", KeysMay: true}, "FORBIDDEN"},
			"a device that a key approved":             {owner, n.DeviceSession(t, key), approval.Request{}, "FORBIDDEN"},
			"a device that a key approved, where they": {owner, n.DeviceSession(t, key), approval.Request{KeysMay: true}, ""},
		} {
			t.Run(name, func(t *testing.T) {
				id, subject := b.ask(t, c.maker.On(t), c.need)
				may := b.caller(c.voter.On(t))
				shown, err := b.Get(t.Context(), may, approval.Input{ID: id})
				if err != nil || shown.CanApprove != (c.want == "") || (shown.CannotBecause == "") != (c.want == "") {
					t.Errorf("shown: %+v, %v", shown, err)
				}
				waiting, err := b.Waiting(t.Context(), may, x.WorkspaceID)
				if c.want == "" && (err != nil || waiting != 1) {
					t.Errorf("%d wait for them, %v", waiting, err)
				}
				_, err = b.Approve(t.Context(), may, approval.ApproveInput{ID: id, ApprovalApprove: api.ApprovalApprove{Digest: shown.Digest, Verification: "compared"}})
				if code(err) != c.want {
					t.Errorf("voting: %v, want %q", err, c.want)
				}
				var f *fault.Fault
				if errors.As(err, &f) && (f.Action != "payout.rule.approved" || f.ResourceID != subject || f.Scope.WorkspaceID != x.WorkspaceID && f.Details == nil) {
					t.Errorf("the refusal is logged as %+v", f)
				}
				if c.want != "" {
					if _, err := b.Withdraw(t.Context(), b.caller(c.maker.On(t)), approval.Input{ID: id}); err != nil {
						t.Errorf("withdraw: %v", err)
					}
				}
			})
		}
	})
}

// Each vote names the session that gave it, and its API key if it was one of a key, so that people find out how someone voted.
func TestAVoteKeepsItsSessionAndKey(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		key := b.x.Member("disbursement_authorizer") // a session of a key
		person := n.Person(t, b.x.Member("disbursement_authorizer"))
		b.x.EverybodyCounts()
		id, _ := b.ask(t, b.x.Owner, approval.Request{Needed: 2, KeysMay: true})
		want := map[string]audit.Actor{}
		for _, c := range []*servertest.Client{key, person} {
			by := b.caller(c).Actor
			if want[by.ID] = by; by.SessionID == "" || (by.KeyID != "") != (c == key) {
				t.Fatalf("the session is %q, and the key %q", by.SessionID, by.KeyID)
			}
			if _, err := b.vote(c, id); err != nil {
				t.Fatal(err)
			}
		}
		err := n.DB.Read(t.Context(), func(q db.Q) error {
			return q.Each(func(r db.Rows) error {
				by := want[r.Text(0)]
				if r.Text(1) != by.SessionID || r.Text(2) != by.KeyID {
					t.Errorf("the vote of %s has session %q and key %q, want %q and %q", by.ID, r.Text(1), r.Text(2), by.SessionID, by.KeyID)
				}
				delete(want, r.Text(0))
				return nil
			}, `SELECT account_id, session_id, key_id FROM approval_vote WHERE approval_id = $1`, id)
		})
		if err != nil || len(want) > 0 {
			t.Errorf("%d votes are missing, %v", len(want), err)
		}
	})
}

// However votes and a rejection meet, it is decided once, and by as many as it takes.
func TestVotesRace(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		var voters []*servertest.Client
		for range 3 {
			voters = append(voters, n.Person(t, b.x.Member("disbursement_authorizer")))
		}
		b.x.EverybodyCounts()
		for round := range 10 {
			id, subject := b.ask(t, b.x.Owner, approval.Request{Needed: 2})
			shown, err := b.Get(t.Context(), b.caller(voters[0]), approval.Input{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			callers := []db.Caller{b.caller(voters[0]), b.caller(voters[1]), b.caller(voters[2]), b.caller(voters[0])}
			outcomes := servertest.SideBySide(len(callers), func(i int) error {
				if i == 2 && round%2 == 0 {
					_, err := b.Reject(t.Context(), callers[i], approval.RejectInput{ID: id, ApprovalReject: api.ApprovalReject{Reason: "no"}})
					return err
				}
				_, err := b.Approve(t.Context(), callers[i], approval.ApproveInput{ID: id, ApprovalApprove: api.ApprovalApprove{Digest: shown.Digest, Verification: "compared"}})
				return err
			})
			after, err := b.Get(t.Context(), callers[0], approval.Input{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			for i, err := range outcomes {
				if c := code(err); c != "" && c != "FORBIDDEN" && c != "APPROVAL_DECIDED" {
					t.Errorf("caller %d: %v", i, err)
				}
			}
			rows := n.Audited(t, subject)
			switch votes := n.Count(t, `SELECT count(*) FROM approval_vote WHERE approval_id = $1`, id); {
			case after.State == api.ApprovalApproved && (votes != 2 || len(rows) != 2):
				t.Errorf("approved by %d votes, and the log tells %v", votes, rows)
			case after.State == api.ApprovalRejected && (votes > 1 || len(rows) != votes+1):
				t.Errorf("rejected after %d votes, and the log tells %v", votes, rows)
			case after.State != api.ApprovalApproved && after.State != api.ApprovalRejected:
				t.Errorf("it is %s after %v", after.State, outcomes)
			}
		}
	})
}

// Approvals of payouts are shown to anyone who may read payouts, and those of receiving methods to
// whoever may read those.
func TestListsShowWhatTheCallerMayRead(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		x := b.x
		n.Person(t, x.Member("admin"))
		_, method := add(x.Owner, x.Entry("Ada"), "1")
		payout, _ := b.ask(t, x.Owner, approval.Request{})
		x.Define("payers", "ws.read", "ws.payouts.read", "ws.payouts.approve")
		x.Define("keepers", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.approve")
		x.Define("others", "ws.read")
		for role, want := range map[string][]string{"payers": {payout}, "keepers": {method}, "admin": {payout, method}} {
			by := b.caller(x.Member(role))
			page, err := b.List(t.Context(), by, approval.ListInput{WorkspaceID: x.WorkspaceID})
			var got []string
			for _, a := range page.Rows() {
				got = append(got, a.ID)
			}
			// The server knows the kind of receiving methods, and this service the one of payouts.
			for _, row := range x.Member(role).Get("/v1/approvals?workspace_id=" + x.WorkspaceID).OK().List() {
				got = append(got, row["id"].(string))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s see %v, want %v, %v", role, got, want, err)
			}
		}
		x.Member("others").Get("/v1/approvals?workspace_id="+x.WorkspaceID).Fails(403, "FORBIDDEN")
	})
}

// Being a second person for receiving methods makes no one one for payouts.
func TestEachPairHasItsOwnSecondPersons(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		x.Define("keepers", "ws.read", "ws.directory.read", "ws.receiving.read", "ws.receiving.write", "ws.receiving.approve")
		x.Member("keepers")
		present := func(pair access.Pair) (p access.SecondPerson) {
			t.Helper()
			err := n.DB.Read(t.Context(), func(q db.Q) (err error) {
				p, err = access.FindSecondPerson(q, pair, x.WorkspaceID, n.DB.Now())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if !present(access.Receiving).Demanded() || present(access.Payouts).Demanded() {
			t.Error("a keeper of receiving methods counts for payouts")
		}
		late := x.Member("disbursement_authorizer")
		if p := present(access.Payouts); !p.Demanded() || p.CountsFrom(late.UserID) != 0 {
			t.Errorf("the first one who may approve payouts counts from %d", p.CountsFrom(late.UserID))
		}
		later := x.Member("disbursement_authorizer")
		if p := present(access.Payouts); p.CountsFrom(later.UserID) < n.DB.Now() {
			t.Errorf("whoever comes later counts from %d", p.CountsFrom(later.UserID))
		}
		// Removing all of them leaves no one alone at once.
		for _, gone := range []*servertest.Client{late, later} {
			x.Owner.Delete(x.Path("/members/" + gone.UserID)).OK()
		}
		if p := present(access.Payouts); p.Present || !p.Demanded() {
			t.Error("one person suffices as soon as the others are removed")
		}
		n.Clock.Advance(3 * day)
		if present(access.Payouts).Demanded() {
			t.Error("nobody is there for three days, and two are demanded")
		}
	})
}

// Between two votes the first voter loses what made them an approver.
func TestVotesOfWhoMayNoLongerApproveDoNotCount(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		b := newBallot(t, n)
		x := b.x
		second, third := n.Person(t, x.Member("disbursement_authorizer")), n.Person(t, x.Member("disbursement_authorizer"))
		for name, lose := range map[string]func(c *servertest.Client){
			"removed": func(c *servertest.Client) { x.Owner.Delete(x.Path("/members/" + c.UserID)).OK() },
			"without the role": func(c *servertest.Client) {
				x.Owner.Post(x.Path("/members"), servertest.Body{"email": c.Email(), "role": "viewer"}).OK()
				x.Owner.Delete(x.Path("/roles/" + c.UserID + "/disbursement_authorizer")).OK()
			},
			"suspended": func(c *servertest.Client) {
				if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, c.Email()); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				first := n.Person(t, x.Member("disbursement_authorizer"))
				x.EverybodyCounts()
				id, _ := b.ask(t, x.Owner.On(t), approval.Request{Needed: 2})
				if _, err := b.vote(first.On(t), id); err != nil {
					t.Fatal(err)
				}
				lose(first)
				if got, err := b.vote(second.On(t), id); err != nil || got.State != api.ApprovalPending || len(got.Approvals) != 1 {
					t.Fatalf("after the second vote: %+v, %v", got, err)
				}
				if got, err := b.vote(third.On(t), id); err != nil || got.State != api.ApprovalApproved {
					t.Errorf("after the third vote: %+v, %v", got, err)
				}
			})
		}
	})
}
