package identity_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/setup"
	"bursar/internal/vault"
	"bursar/internal/web"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	webTTL  = 12 * time.Hour
	webIdle = 30 * time.Minute
)

// node is the service as one server has it.
type node struct {
	*identity.Service
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	clients   *identity.Clients
	clock     *dbtest.Clock
	t         testing.TB
}

func open(t testing.TB, store dbtest.Store, c *dbtest.Clock) *node {
	t.Helper()
	n := &node{clock: c, t: t, db: store.OpenAt(t, c.Now)}
	n.vault = store.Vault(n.db)
	key, err := identity.Prepare(t.Context(), n.db, n.vault)
	must(t, err)
	n.Service = identity.New(n.db, n.vault, web.NewCursors(key), identity.Config{
		PublicURL: "http://bursar.test", KeyTTL: time.Hour, DeviceTTL: time.Hour, WebTTL: webTTL, WebIdle: webIdle, LimitsOff: true,
	})
	n.authority = access.NewAuthority(n.db)
	n.clients = identity.NewClients(n.db, n.authority, web.NewCursors(nil))
	return n
}

// each runs a test on every engine.
func each(t *testing.T, run func(t *testing.T, n *node)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) { run(t, open(t, store, &dbtest.Clock{})) })
}

func (n *node) on(t testing.TB) *node {
	other := *n
	other.t = t
	return &other
}

var must = dbtest.Must

func refused(t testing.TB, err error, code api.Code) *fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("want %s, got %v", code, err)
	}
	return f
}

// first sets the store up and returns what there is then.
func (n *node) first() setup.Result {
	n.t.Helper()
	first, err := setup.Run(n.t.Context(), n.db, db.Caller{}, setup.First{Email: "admin@example.com", Name: "Admin", Organization: "Acme", Workspace: "Treasury"})
	must(n.t, err)
	return first
}

func (n *node) person(email string) string {
	n.t.Helper()
	id, err := n.CreateUser(n.t.Context(), db.Caller{}, email, "User "+email)
	must(n.t, err)
	return id
}

func stranger() db.Caller {
	return db.Caller{Actor: audit.Actor{Type: audit.System, IP: "203.0.113.7", RequestID: "req_test"}}
}

// begin starts a session at a browser, in the place of one that it had.
func (n *node) begin(userID, before string) identity.WebSession {
	n.t.Helper()
	by := stranger()
	by.Agent = "Firefox/140"
	session, err := n.BeginWeb(n.t.Context(), by, identity.WebSignIn{UserID: userID, Method: identity.ByPassword, Before: before, Version: n.version(userID)})
	must(n.t, err)
	return session
}

// version is the version of a user's sign-in methods.
func (n *node) version(userID string) int64 {
	return int64(n.count(`SELECT credential_version FROM account WHERE id = $1`, userID))
}

// live says whether a session lets someone in. Asking does not keep it alive.
func (n *node) live(secret string) bool {
	n.t.Helper()
	_, err := n.Browser(n.t.Context(), secret, false)
	if err != nil {
		refused(n.t, err, api.CodeUnauthorized)
	}
	return err == nil
}

// use does something with a session, as a person does.
func (n *node) use(secret string) db.Caller {
	n.t.Helper()
	got, err := n.Browser(n.t.Context(), secret, true)
	must(n.t, err)
	return db.Caller{Actor: got.Actor}
}

func (n *node) count(sql string, args ...any) (count int) {
	n.t.Helper()
	must(n.t, n.db.Read(n.t.Context(), func(q db.Q) error {
		_, err := q.Row(sql, args...).Scan(&count)
		return err
	}))
	return count
}

// row is what the audit log says about an event.
type row struct{ ActorType, ActorID, WorkspaceID, OrganizationID, Resource, Description string }

func (n *node) last(action audit.Action) row {
	n.t.Helper()
	var rows []row
	must(n.t, n.db.Read(n.t.Context(), func(q db.Q) (err error) {
		rows, err = db.Collect(q, func(r db.Rows) row {
			return row{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4), r.Text(5)}
		}, `SELECT actor_type, actor_id, workspace_id, organization_id, resource_id, description FROM audit_entry WHERE action = $1 ORDER BY id DESC LIMIT 1`,
			string(action))
		return err
	}))
	if len(rows) == 0 {
		n.t.Fatalf("there is no row %s", action)
	}
	return rows[0]
}

// call calls a service method as the console does.
func call[In, Out any](n *node, by db.Caller, fn web.Func[In, Out], in In) (Out, error) {
	request := httptest.NewRequest(http.MethodPost, "/", nil).WithContext(n.t.Context())
	x := &web.Exchange{W: httptest.NewRecorder(), R: request, Caller: by, RequestID: by.RequestID, IP: by.IP}
	return web.Call(&web.Endpoints{DB: n.db}, x, fn, in)
}
