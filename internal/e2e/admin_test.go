package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/setup"
	"bursar/internal/wait"
)

// site is a store that is administered while a server runs on it.
type site struct {
	t     *testing.T
	store dbtest.Store
	made  setup.Result
	node  *servertest.Node
	json  bool
}

// bySudo is what sudo adds to the environment.
var bySudo = []string{"SUDO_USER=alan"}

// admin runs `bursar admin` and returns what it printed. With --json the keys of
// the result must be these.
func (s *site) admin(line string, keys ...string) string {
	s.t.Helper()
	args := append(append([]string{"admin"}, strings.Fields(line)...), at(s.store)...)
	if !s.json {
		return succeedWith(s.t, bySudo, args...)
	}
	out := succeedWith(s.t, bySudo, append(args, "--json")...)
	var result map[string]any
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		s.t.Fatalf("%s: not JSON: %s", line, out)
	}
	slices.Sort(keys)
	if got := slices.Sorted(maps.Keys(result)); !slices.Equal(got, keys) {
		s.t.Errorf("%s: the keys are %v, want %v", line, got, keys)
	}
	return out
}

// pick finds the value with a prefix in what a command printed.
func pick(t *testing.T, out, prefix string) string {
	t.Helper()
	value := regexp.MustCompile(prefix + `_\w+`).FindString(out)
	if value == "" {
		t.Fatalf("no %s_… in:\n%s", prefix, out)
	}
	return value
}

// audited demands a row of the command line about a resource.
func (s *site) audited(action, resource string) {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), s.store.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	me, err := user.Current()
	if err != nil {
		s.t.Fatal(err)
	}
	var rows int
	err = d.Read(s.t.Context(), func(q db.Q) error {
		_, err := q.Row(`SELECT count(*) FROM audit_entry WHERE action = $1 AND resource_id = $2 AND actor_type = $3 AND actor_name = $4 AND outcome = $5`,
			action, resource, "system", "bursar admin ("+me.Username+", sudo by alan)", "success").Scan(&rows)
		return err
	})
	if err != nil || rows != 1 {
		s.t.Errorf("%d rows say %s about %s: %v", rows, action, resource, err)
	}
}

// awaitEnd waits until the server no longer knows a session.
func awaitEnd(t *testing.T, c *servertest.Client) {
	t.Helper()
	wait.Until(t, "the server notices that a session ended", func() bool {
		return c.Get("/v1/auth/me").Status == http.StatusUnauthorized
	})
}

func TestAdministrationWhileAServerRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		p := start(t, store)
		for name, asJSON := range map[string]bool{"text": false, "json": true} {
			t.Run(name, func(t *testing.T) {
				s := &site{t, store, made, servertest.Remote(t, p.URL, made), asJSON}
				email := name + "@example.com"
				s.users(email)
				s.keys(email)
				s.clients()
				s.signingKeys()
			})
		}
	})
}

// users creates a user, turns their access off and on again.
func (s *site) users(email string) {
	t := s.t
	user := pick(t, s.admin("user create --name Grace --email "+email, "user_id"), "usr")
	s.audited("iam.user.created", user)
	invited := s.node.Admin(t).Post("/v1/workspaces/"+s.made.WorkspaceID+"/members", servertest.Body{"email": email, "role": "viewer"}).OK()
	key := pick(t, s.admin("api-key create --name laptop --user "+email, "id", "api_key"), "bk")
	session := s.node.Login(t, key)
	if me := session.Get("/v1/auth/me").OK(); me.Text("id") != user {
		t.Errorf("the server knows another user by %s: %s", email, me.Body)
	}
	session.Join(invited.Text("user_id"))

	s.admin("user disable --email "+email, "user_id")
	s.audited("iam.user.disabled", user)
	awaitEnd(t, session)
	s.node.Exchange(t, "Bearer "+key).Fails(http.StatusUnauthorized, "UNAUTHORIZED")

	s.admin("user enable --email "+email, "user_id")
	s.audited("iam.user.enabled", user)
	s.node.Login(t, key).Get("/v1/workspaces/" + s.made.WorkspaceID).OK()
	session.Get("/v1/auth/me").Fails(http.StatusUnauthorized, "UNAUTHORIZED") // what ended stays ended
}

// keys creates an API key and revokes it.
func (s *site) keys(email string) {
	t := s.t
	out := s.admin("api-key create --name ci --expires-in 24h --user "+email, "id", "api_key")
	id, secret := pick(t, out, "key"), pick(t, out, "bk")
	s.audited("auth.key.created", id)
	session := s.node.Login(t, secret)
	listed := session.Get("/v1/api-keys").OK().List()
	at := slices.IndexFunc(listed, func(key servertest.Body) bool { return key["id"] == id })
	if at < 0 || listed[at]["name"] != "ci" || listed[at]["expires_at"] == nil {
		t.Errorf("the server lists the keys %v", listed)
	}

	s.admin("api-key revoke --id "+id, "id", "revoked")
	s.audited("auth.key.revoked", id)
	awaitEnd(t, session)
	s.node.Exchange(t, "Bearer "+secret).Fails(http.StatusUnauthorized, "UNAUTHORIZED")
}

// clients creates a machine client and revokes it.
func (s *site) clients() {
	t := s.t
	out := s.admin("client create --name payroll --role viewer --workspace "+s.made.WorkspaceID, "client_id", "client_secret")
	id, secret := pick(t, out, "cli"), pick(t, out, "bcs")
	s.audited("auth.client.created", id)
	token := s.node.Exchange(t, basic(id, secret)).OK().Text("token")
	session := s.node.Holder(t, token)
	session.Get("/v1/directory?workspace_id=" + s.made.WorkspaceID).OK()
	session.Post("/v1/directory", servertest.Body{"workspace_id": s.made.WorkspaceID, "type": "person", "fields": servertest.Body{}}).
		Fails(http.StatusForbidden, "FORBIDDEN")

	s.admin("client revoke --id "+id, "client_id", "revoked")
	s.audited("auth.client.revoked", id)
	awaitEnd(t, session)
	s.node.Exchange(t, basic(id, secret)).Fails(http.StatusUnauthorized, "INVALID_CREDENTIALS")
}

// signingKeys rotates the key that signs tokens.
func (s *site) signingKeys() {
	t := s.t
	before := s.node.Admin(t)
	key := pick(t, s.admin("keys rotate", "key_id"), "sig")
	s.audited("auth.signing_key.rotated", key)
	wait.Until(t, "the server publishes the new key", func() bool {
		return strings.Contains(string(s.node.Outside(t, "/.well-known/jwks.json").OK().Body), key)
	})
	before.Get("/v1/auth/me").OK()
	s.node.Admin(t).Get("/v1/auth/me").OK()

	s.audited("auth.signing_key.rotated", pick(t, s.admin("keys rotate --revoke", "key_id"), "sig"))
	awaitEnd(t, before)
	s.node.Admin(t).Get("/v1/auth/me").OK()
}

func TestOwnersSeeWhatOperatorsDoToTheirUsers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		made := initialise(t, store)
		node := servertest.Remote(t, start(t, store).URL, made)
		owner := node.Admin(t)
		invitation := owner.Post("/v1/workspaces/"+made.WorkspaceID+"/members", servertest.Body{"email": "grace@example.com", "role": "viewer"}).OK().Text("user_id")
		s := &site{t: t, store: store, made: made}
		grace := node.Login(t, pick(t, s.admin("api-key create --name laptop --user grace@example.com"), "bk"))
		grace.Join(invitation)
		s.admin("user disable --email grace@example.com")
		for action, resource := range map[string]string{"auth.key.created": "", "iam.user.disabled": grace.UserID} {
			rows := owner.Get("/v1/audit?action=" + action + "&organization_id=" + made.OrganizationID).OK().List()
			if len(rows) != 1 || rows[0]["actor_type"] != "system" || (resource != "" && rows[0]["resource_id"] != resource) {
				t.Errorf("the owner reads about %s: %v", action, rows)
			}
		}
	})
}

func TestWhatEndsOnOneNodeEndsOnEvery(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	made := initialise(t, store)
	here, there := servertest.Remote(t, startNode(t, store).URL, made), servertest.Remote(t, startNode(t, store).URL, made)
	session := here.Admin(t)
	elsewhere := there.Holder(t, session.Token)
	elsewhere.Get("/v1/directory?workspace_id=" + made.WorkspaceID).OK()
	session.Post("/v1/auth/logout", nil).OK()
	session.Get("/v1/auth/me").Fails(http.StatusUnauthorized, "UNAUTHORIZED")
	awaitEnd(t, elsewhere)
}
