package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bursar/internal/backup"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/db/dbtest/pgcluster"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// This is the drill of docs/operating.md: PostgreSQL goes back to a point in time with a base backup and
// its archived log, and Bursar is notified of it.
func TestPostgreSQLGoesBackToAPointInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit())
	defer cancel()
	primary := dbtest.Cluster(t, pgcluster.Options{Settings: pgcluster.Archiving()})
	stop := func(c *pgcluster.Cluster) {
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	store := dbtest.Store{Engine: "postgres", Config: db.Config{URL: primary.URL("postgres", "")}, VaultKey: filepath.Join(t.TempDir(), "vault.key")}
	var apiKey, token string
	var recovered *pgcluster.Cluster
	t.Run("before", func(t *testing.T) {
		n := servertest.Start(t, store)
		x := n.Tenant(t)
		apiKey, token = n.First.APIKey, x.Owner.Token
		var err error
		if recovered, err = primary.BaseBackup(ctx); err != nil {
			t.Fatal(err)
		}
		x.Entry("Before")
		log := ""
		ask := func(sql string) {
			err := n.DB.ReadAll(ctx, func(q db.Q) error {
				_, err := q.Row(sql).Scan(&log)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		ask(`SELECT pg_create_restore_point('before_the_mistake')::text`)
		x.Entry("After")
		ask(`SELECT pg_walfile_name(pg_switch_wal())`)
		for _, err := os.Stat(filepath.Join(primary.Dir(), "archive", log)); err != nil; _, err = os.Stat(filepath.Join(primary.Dir(), "archive", log)) {
			select {
			case <-ctx.Done():
				t.Fatalf("the log %s was not archived", log)
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	stop(recovered)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := recovered.Recover(ctx, primary, "before_the_mistake"); err != nil {
		t.Fatal(err)
	}
	store.Config.URL = recovered.URL("postgres", "")
	done, err := backup.Recovered(ctx, db.Caller{}, place(store), "a backup of the database")
	if err != nil || done.Sessions == 0 {
		t.Fatalf("%d sessions were ended: %v", done.Sessions, err)
	}

	n := servertest.Start(t, store)
	c := n.Stranger(t)
	c.Token = token
	c.Get("/v1/auth/me").Fails(401, "UNAUTHORIZED")
	n.Login(t, apiKey)
	var names []string
	err = n.DB.Read(ctx, func(q db.Q) (err error) {
		names, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT name FROM directory_entry ORDER BY name`)
		return err
	})
	if err != nil || len(names) != 1 || names[0] != "Before" {
		t.Errorf("the store has %v: %v", names, err)
	}
}
