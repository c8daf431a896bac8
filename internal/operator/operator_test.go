package operator_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
	"bursar/internal/operator"
	"bursar/internal/server/servertest"
	"bursar/internal/signin"
	"bursar/internal/web"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type body = servertest.Body

const waiting = "/v1/ops/requests"

// someone is an operator who has just signed in as a person.
func someone(t *testing.T, n *servertest.Node, permissions ...string) *servertest.Client {
	t.Helper()
	return n.Person(t, n.User(t, servertest.NewEmail()).Operate(permissions...))
}

func code(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return string(f.Code)
	}
	return ""
}

func TestOnlyAnOperatorWhoHasJustSignedInFindsTheOperations(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		n.Stranger(t).Get(waiting).Fails(401, "UNAUTHORIZED")
		for _, other := range []*servertest.Client{x.Owner, n.Person(t, x.Owner), x.Member("admin")} {
			other.Get(waiting).Fails(404, "RESOURCE_NOT_FOUND")
			other.Post(waiting+"/opr_1/approve", body{"digest": "x"}).Fails(404, "RESOURCE_NOT_FOUND")
		}
		client, secret, err := n.Identity.CreateClient(t.Context(), db.Caller{}, x.WorkspaceID, "ERP", "admin")
		if err != nil {
			t.Fatal(err)
		}
		machine := n.Holder(t, n.Exchange(t, servertest.Basic(client, secret)).OK().Text("token"))
		if _, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			return struct{}{}, audit.None("a test"), tx.Exec(`INSERT INTO operator (account_id, permissions, created_at) VALUES ($1, 'ops.read', 0)`, client)
		}); err != nil {
			t.Fatal(err)
		}
		machine.Get(waiting).Fails(404, "RESOURCE_NOT_FOUND") // a machine client is no operator
		reader := someone(t, n, "ops.read")
		reader.Get(waiting).OK()
		n.Clock.Advance(16 * time.Minute)
		reader.Get(waiting).Fails(403, "RECENT_LOGIN_REQUIRED")
		n.Clock.Advance(-16 * time.Minute)

		holder := n.User(t, servertest.NewEmail()).Operate("ops.read")
		holder.Get(waiting).OK() // by a key that administers
		holder.Join(x.Add(holder.Email(), "viewer"))
		for _, scope := range []audit.Scope{{}, {Administer: true, WorkspaceIDs: []string{x.WorkspaceID}}, {Administer: true, Mode: audit.SandboxMode},
			{Administer: true, Permissions: []string{"ws.read"}}} {
			_, secret, err := n.Identity.CreateKeyFor(t.Context(), db.Caller{}, holder.Email(), identity.NewKey{Name: "limited", Scope: scope})
			if err != nil {
				t.Fatal(err)
			}
			n.Login(t, secret).Get(waiting).Fails(403, "FORBIDDEN")
		}
		if _, err := operator.Remove(t.Context(), n.DB, db.Caller{}, holder.Email()); err != nil {
			t.Fatal(err)
		}
		holder.Get(waiting).Fails(404, "RESOURCE_NOT_FOUND")
	})
}

func TestALiveDepositNeedsItsOwnReference(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		live, sandbox := x.LiveAccount(), x.Account(0)
		if _, err := n.OperatorDeposit(x.Owner, live, "", 100); code(err) != "VALIDATION_ERROR" {
			t.Errorf("without a reference: %v", err)
		}
		for i, want := range []string{"", "VALIDATION_ERROR"} {
			if done, err := n.OperatorDeposit(x.Owner, live, "OPEN-1", 100); code(err) != want || want == "" && done.Deposit.Amount != 100 {
				t.Errorf("deposit %d: %+v, %v", i, done, err)
			}
		}
		if _, err := n.OperatorDeposit(x.Owner, x.LiveAccount(), "OPEN-1", 100); code(err) != "VALIDATION_ERROR" {
			t.Errorf("the reference of another account: %v", err)
		}
		for range 2 {
			if _, err := n.OperatorDeposit(x.Owner, sandbox, "", 100); err != nil {
				t.Errorf("into the sandbox: %v", err)
			}
		}
		if got := x.Owner.Balances(live)[0] + x.Owner.Balances(sandbox)[0]; got != 300 {
			t.Errorf("%d were booked", got)
		}
	})
}

func TestALiveDepositWaitsForAnOperatorWhereThereAreTwo(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		live := x.LiveAccount()
		money, other := someone(t, n, "ops.money"), someone(t, n, "ops.access")
		done, err := n.OperatorDeposit(x.Owner, live, "OPEN-1", 100)
		if err != nil || done.RequestID == "" || x.Owner.Balances(live)[0] != 0 {
			t.Fatalf("it does not wait: %+v, %v", done, err)
		}
		if _, err := n.OperatorDeposit(x.Owner, live, "OPEN-1", 100); code(err) != "VALIDATION_ERROR" {
			t.Errorf("the reference of one that waits: %v", err)
		}
		shown := servertest.Decoded[[]api.OpsRequest](other.Get(waiting))
		if len(shown) != 1 || shown[0].ID != done.RequestID || !strings.Contains(shown[0].Summary, "1.00") || shown[0].Permission != "ops.money" {
			t.Fatalf("shown are %+v", shown)
		}
		path := waiting + "/" + done.RequestID
		if got := other.Post(path+"/approve", body{"digest": shown[0].Digest}).Fails(403, "FORBIDDEN").Detail("permission"); got != "ops.money" {
			t.Errorf("the missing permission is %q", got)
		}
		money.Post(path+"/approve", body{"digest": "another"}).Fails(422, "APPROVAL_CHANGED")
		money.Post(path+"/approve", body{"digest": shown[0].Digest}).OK()
		money.Post(path+"/approve", body{"digest": shown[0].Digest}).Fails(422, "APPROVAL_DECIDED")
		if got := x.Owner.Balances(live)[0]; got != 100 {
			t.Errorf("%d were booked", got)
		}

		rejected, err := n.OperatorDeposit(x.Owner, live, "OPEN-2", 100)
		if err != nil {
			t.Fatal(err)
		}
		money.Post(waiting+"/"+rejected.RequestID+"/reject", nil).OK()
		again, err := n.OperatorDeposit(x.Owner, live, "OPEN-2", 100) // whose reference is free again
		if err != nil {
			t.Fatal(err)
		}
		n.Clock.Advance(8 * 24 * time.Hour)
		late := n.Person(t, money.Again(t))
		if got := late.Get(waiting).OK().List(); len(got) != 0 {
			t.Errorf("still waiting: %v", got)
		}
		late.Post(waiting+"/"+again.RequestID+"/reject", nil).Fails(422, "APPROVAL_DECIDED")
		if _, err := n.OperatorDeposit(x.Owner, live, "OPEN-2", 100); err != nil {
			t.Errorf("after it expired: %v", err)
		}
	})
}

// withMail runs a test with a server that sends mail, and with the service as its pages use it.
func withMail(t *testing.T, run func(t *testing.T, n *servertest.Node, s *operator.Service, box *smtptest.Server)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		n := servertest.Start(t, store, func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "Bursar <bursar@example.com>" })
		n.RunBackground(t)
		settings, err := mail.Parse(box.URL, "Bursar <bursar@example.com>")
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.New(settings, n.DB, n.Vault, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		links := identity.NewLinks(n.PublicURL, m)
		people, err := signin.New(n.DB, n.Vault, links, signin.Config{PublicURL: n.PublicURL, LimitsOff: true, HashMemory: 64})
		if err != nil {
			t.Fatal(err)
		}
		run(t, n, operator.New(n.DB, web.NewCursors(nil), people, links, m), box)
	})
}

// at is the person behind a client as they call from a browser in which they have just signed in.
func at(n *servertest.Node, c *servertest.Client) db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.User, ID: c.UserID, Email: c.Email(), LoggedInAt: n.DB.Now()}}
}

// heard waits until the addresses got a mail with a subject, and returns who did.
func heard(t *testing.T, box *smtptest.Server, subject string, want ...string) {
	t.Helper()
	for all := 1; len(want) > 0; all++ {
		m := box.Wait(t, all)[all-1]
		if m.Subject == subject {
			want = slices.DeleteFunc(want, func(email string) bool { return slices.Contains(m.To, email) })
		}
	}
}

func TestResettingAnApproverTakesTwoOperatorsAndNotifies(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, box *smtptest.Server) {
		x := n.Tenant(t)
		grace, clerk := x.Member("admin"), x.Member("viewer")
		x.EverybodyCounts()
		x.Owner.Get(x.Path("/receiving-policy")).OK()
		one, two := someone(t, n, "ops.access"), someone(t, n, "ops.access")
		done, err := s.Reset(t.Context(), at(n, one), operator.UserInput{UserID: clerk.UserID})
		if err != nil || done.RequestID != "" {
			t.Fatalf("a viewer: %+v, %v", done, err)
		}
		heard(t, box, "Set up or recover how you sign in to Bursar", emailOf(t, n, clerk.UserID))

		done, err = s.Reset(t.Context(), at(n, one), operator.UserInput{UserID: grace.UserID})
		if err != nil || done.RequestID == "" {
			t.Fatalf("an approver: %+v, %v", done, err)
		}
		grace.Get(x.Path("")).OK() // nothing has happened
		shown := servertest.Decoded[[]api.OpsRequest](two.Get(waiting))
		path := waiting + "/" + done.RequestID + "/approve"
		one.Post(path, body{"digest": shown[0].Digest}).Fails(403, "FORBIDDEN")
		email := grace.Email()
		two.Post(path, body{"digest": shown[0].Digest}).OK()
		grace.Get(x.Path("")).Fails(401, "UNAUTHORIZED")
		heard(t, box, "Set up or recover how you sign in to Bursar", email)
		heard(t, box, "An operator has reset the sign-in of an approver", x.Owner.Email(), email)
		if from := countsFrom(t, x, grace); from <= n.DB.Now() {
			t.Errorf("they count from %d on, and it is %d", from, n.DB.Now())
		}
	})
}

// countsFrom is from when on someone counts as an approver of payouts.
func countsFrom(t *testing.T, x *servertest.Tenant, who *servertest.Client) int64 {
	t.Helper()
	var people access.SecondPerson
	if err := x.Node.DB.Read(t.Context(), func(q db.Q) (err error) {
		people, err = access.FindSecondPerson(q, access.Payouts, x.WorkspaceID, x.Node.DB.Now())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return people.CountsFrom(who.UserID)
}

func emailOf(t *testing.T, n *servertest.Node, userID string) (email string) {
	t.Helper()
	if err := n.DB.Read(t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT email FROM account WHERE id = $1`, userID).Scan(&email)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return email
}

func TestAnApproverIsAppointedByTwoOperatorsAndNotified(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, box *smtptest.Server) {
		x, elsewhere := n.Tenant(t), n.Tenant(t)
		grace := x.Member("viewer")
		grace.Join(elsewhere.Add(grace.Email(), "admin"))
		elsewhere.EverybodyCounts()
		one := someone(t, n, "ops.access")
		in := operator.AppointInput{WorkspaceID: x.WorkspaceID, Email: grace.Email(), Role: "disbursement_authorizer"}
		two := someone(t, n, "ops.access")
		done, err := s.Appoint(t.Context(), at(n, one), in)
		if err != nil || done.RequestID == "" {
			t.Fatalf("%+v, %v", done, err)
		}
		stranger := in
		stranger.Email = n.User(t, servertest.NewEmail()).Email()
		if _, err := s.Appoint(t.Context(), at(n, one), stranger); code(err) != "VALIDATION_ERROR" {
			t.Errorf("a person outside of the workspace: %v", err)
		}
		shown := servertest.Decoded[[]api.OpsRequest](two.Get(waiting))
		two.Post(waiting+"/"+done.RequestID+"/approve", body{"digest": shown[0].Digest}).OK()
		if got := x.MemberWith(t, grace.UserID).Roles; !slices.Contains(got, "disbursement_authorizer") {
			t.Errorf("their roles are %v", got)
		}
		if err := n.Server.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		heard(t, box, "The operator has appointed an approver", x.Owner.Email())
		if row := x.Audit("")[0]; row["action"] != "iam.member.approver_appointed" {
			t.Errorf("the log of the workspace has %v", row)
		}
		if from, want := countsFrom(t, x, grace), n.DB.Now()+24*time.Hour.Milliseconds(); from > want || from < want-time.Hour.Milliseconds() {
			t.Errorf("they count from %d on, and it is %d", from, n.DB.Now())
		}
		if from := countsFrom(t, elsewhere, grace); from != 0 {
			t.Errorf("elsewhere they count from %d on", from)
		}
	})
}

func TestDisablingTakesOneOperator(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, _ *smtptest.Server) {
		x := n.Tenant(t)
		grace := x.Member("admin")
		one, reader := someone(t, n, "ops.access"), someone(t, n, "ops.read")
		if _, err := s.Disable(t.Context(), at(n, reader), operator.UserInput{UserID: grace.UserID}); code(err) != "FORBIDDEN" {
			t.Errorf("with ops.read: %v", err)
		}
		if _, err := s.Disable(t.Context(), at(n, x.Owner), operator.UserInput{UserID: grace.UserID}); code(err) != "RESOURCE_NOT_FOUND" {
			t.Errorf("without being an operator: %v", err)
		}
		if _, err := s.Disable(t.Context(), at(n, one), operator.UserInput{UserID: grace.UserID}); err != nil {
			t.Fatal(err)
		}
		grace.Get(x.Path("")).Fails(401, "UNAUTHORIZED")
		found, err := s.Users(t.Context(), at(n, reader), operator.FindInput{Text: grace.UserID})
		if err != nil || len(found) != 1 || found[0].Status != "disabled" {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}

func TestAnOperatorWhoDisablesTheOtherIsNotAlone(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, _ *smtptest.Server) {
		x := n.Tenant(t)
		grace := x.Member("admin")
		x.EverybodyCounts()
		x.Owner.Get(x.Path("/receiving-policy")).OK()
		one, two := someone(t, n, "ops.access"), someone(t, n, "ops.access")
		if _, err := s.Disable(t.Context(), at(n, one), operator.UserInput{UserID: two.UserID}); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Reset(t.Context(), at(n, one), operator.UserInput{UserID: grace.UserID}); err != nil || done.RequestID == "" {
			t.Errorf("an approver: %+v, %v", done, err)
		}
		if _, err := s.Reset(t.Context(), at(n, one), operator.UserInput{UserID: one.UserID}); code(err) != "FORBIDDEN" {
			t.Errorf("themselves: %v", err)
		}
	})
}

// Anyone who signs in as an operator must not leave a request behind that another operator confirms later.
func TestARequestEndsWithTheOperatorWhoMadeIt(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, _ *smtptest.Server) {
		ends := map[string]func(who *servertest.Client) error{
			"they are disabled": func(who *servertest.Client) error {
				_, err := n.Identity.DisableUser(t.Context(), db.Caller{}, who.Email())
				return err
			},
			"they are disabled and enabled": func(who *servertest.Client) error {
				email := who.Email()
				_, err := n.Identity.DisableUser(t.Context(), db.Caller{}, email)
				if err == nil {
					_, err = n.Identity.EnableUser(t.Context(), db.Caller{}, email)
				}
				return err
			},
			"they are reset": func(who *servertest.Client) error { // which takes two
				done, err := s.Reset(t.Context(), at(n, someone(t, n, "ops.access")), operator.UserInput{UserID: who.UserID})
				if err == nil {
					other := someone(t, n, "ops.access")
					list := servertest.Decoded[[]api.OpsRequest](other.Get(waiting + "?limit=100"))
					reset := list[slices.IndexFunc(list, func(r api.OpsRequest) bool { return r.ID == done.RequestID })]
					other.Post(waiting+"/"+reset.ID+"/approve", body{"digest": reset.Digest}).OK()
				}
				return err
			},
			"they are no longer an operator": func(who *servertest.Client) error {
				_, err := operator.Remove(t.Context(), n.DB, db.Caller{}, who.Email())
				return err
			},
			"they may only read": func(who *servertest.Client) error {
				_, err := operator.Add(t.Context(), n.DB, db.Caller{}, who.Email(), []string{"ops.read"})
				return err
			},
			"how they sign in changes": func(who *servertest.Client) error {
				_, err := db.Write(t.Context(), n.DB, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
					return struct{}{}, audit.None("a test"), identity.RaiseCredentialVersion(tx, who.UserID)
				})
				return err
			},
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				x := n.Tenant(t)
				grace := x.Member("viewer")
				one, two := someone(t, n, "ops.access"), someone(t, n, "ops.access")
				in := operator.AppointInput{WorkspaceID: x.WorkspaceID, Email: grace.Email(), Role: "disbursement_authorizer"}
				done, err := s.Appoint(t.Context(), at(n, one), in)
				if err != nil || done.RequestID == "" {
					t.Fatalf("%+v, %v", done, err)
				}
				shown := func() api.OpsRequest {
					list := servertest.Decoded[[]api.OpsRequest](two.Get(waiting + "?limit=100"))
					return list[slices.IndexFunc(list, func(r api.OpsRequest) bool { return r.ID == done.RequestID })]
				}
				before := shown()
				if err := end(one); err != nil {
					t.Fatal(err)
				}
				if after := shown(); before.EndedBecause != "" || after.EndedBecause == "" {
					t.Errorf("the list says %+v, then %+v", before, after)
				}
				path := waiting + "/" + done.RequestID
				two.Post(path+"/approve", body{"digest": before.Digest}).Fails(422, "APPROVAL_DECIDED")
				if got := x.MemberWith(t, grace.UserID).Roles; slices.Contains(got, in.Role) {
					t.Errorf("their roles are %v", got)
				}
				two.Post(path+"/reject", nil).OK()
			})
		}
	})
}

func TestAnAppointmentEndsWithTheMembership(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, _ *smtptest.Server) {
		x := n.Tenant(t)
		grace := x.Member("viewer")
		one, two := someone(t, n, "ops.access"), someone(t, n, "ops.access")
		done, err := s.Appoint(t.Context(), at(n, one), operator.AppointInput{WorkspaceID: x.WorkspaceID, Email: grace.Email(), Role: "disbursement_authorizer"})
		if err != nil || done.RequestID == "" {
			t.Fatalf("%+v, %v", done, err)
		}
		shown := func() api.OpsRequest { return servertest.Decoded[[]api.OpsRequest](two.Get(waiting))[0] }
		before := shown()
		answer := servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
			if _, _, err := access.LockMembers(tx, x.WorkspaceID); err != nil {
				return err
			}
			return tx.Exec(`DELETE FROM workspace_member WHERE workspace_id = $1 AND account_id = $2`, x.WorkspaceID, grace.UserID)
		}, func() *servertest.Answer {
			return two.Post(waiting+"/"+done.RequestID+"/approve", body{"digest": before.Digest})
		})
		answer.Fails(422, "APPROVAL_DECIDED")
		if after := shown(); before.EndedBecause != "" || after.EndedBecause == "" {
			t.Errorf("the list says %+v, then %+v", before, after)
		}
		if member := x.MemberWith(t, grace.UserID); member.ID != "" {
			t.Errorf("they are a member with %v", member.Roles)
		}
	})
}

// An operator may lose their session, or be removed, a moment after a request was authorized.
func TestWhatAnOperatorDoesEndsWithTheirAccess(t *testing.T) {
	withMail(t, func(t *testing.T, n *servertest.Node, s *operator.Service, _ *smtptest.Server) {
		for name, c := range map[string]struct{ sql, code string }{
			"is signed out": {`UPDATE session SET revoked_at = 1 WHERE account_id = $1`, "UNAUTHORIZED"},
			"is removed":    {`DELETE FROM operator WHERE account_id = $1`, "RESOURCE_NOT_FOUND"},
		} {
			x := n.Tenant(t)
			grace := x.Member("viewer")
			for act, do := range map[string]func(by db.Caller) error{
				"disable": func(by db.Caller) error {
					_, err := s.Disable(t.Context(), by, operator.UserInput{UserID: grace.UserID})
					return err
				},
				"reset": func(by db.Caller) error {
					_, err := s.Reset(t.Context(), by, operator.UserInput{UserID: grace.UserID})
					return err
				},
			} {
				t.Run(act+" by one who "+name, func(t *testing.T) {
					one := someone(t, n, "ops.access")
					by := at(n, one)
					if err := n.DB.Read(t.Context(), func(q db.Q) error {
						_, err := q.Row(`SELECT id FROM session WHERE account_id = $1 ORDER BY id DESC LIMIT 1`, one.UserID).Scan(&by.SessionID)
						return err
					}); err != nil {
						t.Fatal(err)
					}
					err := servertest.WhileUnderWay(t, n.DB, func(tx *db.Tx) error {
						if err := identity.LockUser(tx, one.UserID); err != nil {
							return err
						}
						return tx.Exec(c.sql, one.UserID)
					}, func() error { return do(by) })
					if code(err) != c.code {
						t.Errorf("%v", err)
					}
					grace.Get(x.Path("")).OK()
				})
			}
		}
	})
}
