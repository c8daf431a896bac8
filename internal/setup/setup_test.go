package setup_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/setup"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var first = setup.First{
	Email: "ada@example.com", Name: "Ada Lovelace", Organization: "Acme", Workspace: "Treasury", PublicURL: "https://pay.example.com",
}

func TestOneOfSeveralNodesSetsTheStoreUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		nodes := []*db.DB{store.Open(t), store.Open(t), store.Open(t)}
		if done, err := setup.Done(t.Context(), nodes[0]); err != nil || done {
			t.Fatalf("a new store is set up: %v, %v", done, err)
		}
		results, errs := make([]setup.Result, len(nodes)), make([]error, len(nodes))
		var all sync.WaitGroup
		for i, d := range nodes {
			all.Go(func() { results[i], errs[i] = setup.Run(t.Context(), d, db.Caller{}, first) })
		}
		all.Wait()
		var made []setup.Result
		for i, err := range errs {
			if err == nil {
				made = append(made, results[i])
			} else if !errors.Is(err, setup.ErrDone) {
				t.Errorf("node %d: %v", i, err)
			}
		}
		if len(made) != 1 {
			t.Fatalf("%d nodes set the store up, want 1", len(made))
		}
		for name, prefix := range map[string]struct{ got, want string }{
			"the user":         {made[0].UserID, "usr_"},
			"the organization": {made[0].OrganizationID, "org_"},
			"the workspace":    {made[0].WorkspaceID, "ws_"},
			"the API key":      {made[0].APIKey, "bk_"},
			"the link":         {made[0].Link, "https://pay.example.com/invite/"},
		} {
			if !strings.HasPrefix(prefix.got, prefix.want) {
				t.Errorf("%s is %q, want it to begin with %q", name, prefix.got, prefix.want)
			}
		}
		for i, d := range nodes {
			if done, err := setup.Done(t.Context(), d); err != nil || !done {
				t.Errorf("node %d does not see that the store is set up: %v, %v", i, done, err)
			}
		}
	})
}

func TestTheFirstKeyAdministersAndIsForTheChosenMoney(t *testing.T) {
	for mode, want := range map[string]audit.Scope{
		"":                {Administer: true},
		audit.BothModes:   {Administer: true},
		audit.SandboxMode: {Administer: true, Mode: audit.SandboxMode},
		audit.LiveMode:    {Administer: true, Mode: audit.LiveMode},
	} {
		d := dbtest.SQLite(t).Open(t)
		chosen := first
		chosen.Mode = mode
		if _, err := setup.Run(t.Context(), d, db.Caller{}, chosen); err != nil {
			t.Fatal(err)
		}
		var scope string
		if err := d.Read(t.Context(), func(q db.Q) error {
			_, err := q.Row(`SELECT scope FROM api_key`).Scan(&scope)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if scope != want.String() {
			t.Errorf("mode %q: the scope is %s, want %s", mode, scope, want)
		}
	}
}

func TestWrongValuesAreAllReportedAndChangeNothing(t *testing.T) {
	d := dbtest.SQLite(t).Open(t)
	_, err := setup.Run(t.Context(), d, db.Caller{}, setup.First{Email: "nobody"})
	var refused *fault.Fault
	if !errors.As(err, &refused) {
		t.Fatalf("wrong values are answered with %v", err)
	}
	details, _ := refused.Details.(fault.ViolationDetails)
	var fields []string
	for _, violation := range details.Fields {
		fields = append(fields, violation.Field)
	}
	if got := strings.Join(fields, " "); got != "email name organization workspace" {
		t.Errorf("reported are %q", got)
	}
	if done, err := setup.Done(t.Context(), d); err != nil || done {
		t.Errorf("the store is set up with wrong values: %v, %v", done, err)
	}
}
