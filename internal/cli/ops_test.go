package cli

import (
	"strings"
	"testing"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	ops "bursar/internal/operator"
	"bursar/internal/server/servertest"
)

// The list says why a request can no longer be confirmed.
func TestTheListOfOperatorsRequestsShowsWhichHaveEnded(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	grace := x.Member("viewer")
	one := n.Person(t, n.User(t, servertest.NewEmail()).Operate("ops.access"))
	two := n.Person(t, n.User(t, servertest.NewEmail()).Operate("ops.access"))
	by := db.Caller{Actor: audit.Actor{Type: audit.User, ID: one.UserID, Email: one.Email(), LoggedInAt: n.DB.Now()}}
	done, err := ops.New(n.DB, nil, nil, nil, nil).Appoint(t.Context(), by,
		ops.AppointInput{WorkspaceID: x.WorkspaceID, Email: grace.Email(), Role: "disbursement_authorizer"})
	if err != nil || done.RequestID == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	run := func(args ...string) (code int, printed string) {
		terminal, stdout, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_TOKEN", two.Token, "BURSAR_KEYRING", "off", "BURSAR_CONFIG_DIR", t.TempDir())
		return Run(t.Context(), append([]string{"ops", "requests"}, args...), terminal), stdout.String() + stderr.String()
	}
	if code, printed := run("list"); code != exitOK || !strings.Contains(printed, done.RequestID) || strings.Contains(printed, "ended") {
		t.Errorf("the list ends with %d: %s", code, printed)
	}
	if _, err := n.Identity.DisableUser(t.Context(), db.Caller{}, one.Email()); err != nil {
		t.Fatal(err)
	}
	if code, printed := run("list"); code != exitOK || !strings.Contains(printed, "for "+grace.Email()+" (ended: whoever asked for it is disabled, or no longer") {
		t.Errorf("the list ends with %d: %s", code, printed)
	}
	if code, printed := run("approve", done.RequestID, "--yes"); code == exitOK || !strings.Contains(printed, "this has ended: whoever asked for it is disabled") {
		t.Errorf("the approval ends with %d: %s", code, printed)
	}
	if code, printed := run("reject", done.RequestID, "--yes"); code != exitOK || !strings.Contains(printed, "The request is rejected.") {
		t.Errorf("the rejection ends with %d: %s", code, printed)
	}
}
