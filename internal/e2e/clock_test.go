package e2e_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// A node whose clock is an hour ahead of PostgreSQL's sends nothing, and shows that in its metrics, in the health of its rails and in
// its log.
func TestANodeShowsThatItsClockIsOff(t *testing.T) {
	t.Parallel()
	store := dbtest.Postgres(t)
	made := initialise(t, store)
	conn, err := pgx.Connect(t.Context(), store.Config.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql
		AS $$ SELECT pg_catalog.clock_timestamp() - interval '1 hour' $$`)
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(store.Config.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", "public,pg_catalog") // which is the first one otherwise
	u.RawQuery = query.Encode()
	store.Config.URL = u.String()

	p := start(t, store, "--metrics-listen", "127.0.0.1:0")
	admin, aside := servertest.Remote(t, p.URL, made).Admin(t), servertest.Remote(t, p.aside(t, "metrics"), made)
	var health api.ServiceHealth
	wait.Until(t, "the rails are down", func() bool {
		health = servertest.Decoded[api.ServiceHealth](admin.Get("/v2/payout-requests/health/instapay"))
		return health.Status == "down"
	})
	if !strings.HasPrefix(health.Reason, "the clock of this node is ") {
		t.Errorf("they are down because %q", health.Reason)
	}
	if got := string(aside.Outside(t, "/metrics").OK().Body); !strings.Contains(got, "\nbursar_clock_skew_seconds 3") {
		t.Errorf("the metrics are %s", got)
	}
	wait.Until(t, "the log says so", func() bool { return strings.Contains(p.Log.String(), "this node claims no payouts") })
}
