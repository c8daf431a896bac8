package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/backup"
	"bursar/internal/backup/continuous"
	"bursar/internal/cli/term"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/server"
	"bursar/internal/setup"
)

func newServe(t Terminal) *cobra.Command {
	var settings config.Serve
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server. On an empty store it creates a first organization, workspace
and admin, and prints the admin's API key and a link with which the admin sets
up their sign-in to the console. Both are printed only once. If other machines
can reach the server, it writes them to a file that only its owner can read.

The audit log is signed with the key in --audit-key, which the first start
makes beside an embedded store, and 'bursar admin audit init' for PostgreSQL.
It prints the public key: keep it where nobody who runs the server can change
it.

Plain HTTP is for this machine. On any other address the server wants TLS, by
--tls-cert and --tls-key or by --acme-domain, or a proxy that terminates TLS
and that --trusted-proxies names, or --insecure-http.

Account numbers and other secrets are sealed in the database with the key in
--vault-key, or with the program in --vault-command. On SQLite the first start
makes vault.key in the data folder: move a copy to where backups of the
database do not go. For PostgreSQL make it with 'bursar admin vault init'.

Every flag can also be set with the environment variable in brackets. On
SIGTERM or SIGINT the server answers the requests it has received, closes the
store and exits.`,
		Example: `  bursar serve
  bursar serve --listen :443 --http-listen :80 --acme-domain pay.example.com
  bursar serve --public-url https://pay.example.com --trusted-proxies ::1/128
  BURSAR_DATABASE_URL=postgres://bursar@db.internal/bursar bursar serve`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
				return term.Usage(err)
			}
			if err := settings.Check(); err != nil {
				return term.Usage(err)
			}
			var level slog.Level
			if err := level.UnmarshalText([]byte(settings.LogLevel)); err != nil {
				return term.Usagef("--log-level must be debug, info, warn or error")
			}
			log := server.NewLog(t.Err, level)
			log.Gather(2 * time.Millisecond)
			defer log.Flush()
			return serve(c.Context(), t, settings, log)
		},
	}
	settings.BindServe(c.Flags())
	return c
}

// gcPercent lets the heap grow to five times the live data between collections. Live data takes a few MiB. With Go's default of 100 the
// collector would run after every few MiB of garbage, and a request would cost 1.4 times the CPU time.
const gcPercent = 400

func serve(ctx context.Context, t Terminal, settings config.Serve, log *server.Log) (err error) {
	if _, set := t.Env("GOGC"); !set { // otherwise the operator has set it
		debug.SetGCPercent(gcPercent)
	}
	store := settings.Store.DB()
	store.Server = true
	store.ReadURL = settings.DatabaseReadURL
	store.OnReplica = func(err error) {
		if err == nil {
			log.Info("the replica serves lists")
			return
		}
		log.Warn("the primary serves all lists, because the replica cannot", "error", err.Error())
	}
	copies, err := backupConfig(t, settings) // before a store exists
	if err != nil {
		return err
	}
	d, err := openStore(ctx, store)
	if err != nil {
		return err
	}
	closeStore := d.Close
	defer func() { err = hintStore(errors.Join(err, closeStore())) }()
	var ship *continuous.Shipper
	if settings.Backup != "" {
		if ship, closeStore, err = startBackup(ctx, d, copies, log); err != nil {
			return err
		}
	}
	listener, err := listen(settings.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // a regular shutdown has already closed it
	configured := settings.PublicURL != ""
	if !configured {
		settings.PublicURL = "http://" + listener.Addr().String()
		if settings.TLS() {
			settings.PublicURL = "https://" + listener.Addr().String()
		}
	}
	keyMade, err := findAuditKey(ctx, d, &settings, log)
	if err != nil {
		return err
	}
	srv, err := server.New(ctx, d, openVault(d, settings.Store, t.Out), settings, log)
	if err != nil {
		return err
	}
	if ship != nil {
		srv.ShowBackup(ship.Status)
	}
	if _, err := fmt.Fprint(t.Out, keyMade); err != nil {
		return err
	}
	if err := setup.StorePublicURL(ctx, d, operator(), settings.PublicURL, configured); err != nil {
		return err
	}
	if err := welcome(ctx, t, d, settings); err != nil {
		return err
	}
	if settings.HTTPListen != "" {
		stop, err := srv.ServeRedirects(settings.HTTPListen, settings.PublicURL)
		if err != nil {
			return err
		}
		defer stop()
	}
	if settings.MetricsListen != "" {
		stop, err := srv.ServeMetrics(settings.MetricsListen)
		if err != nil {
			return err
		}
		defer stop()
	}
	if settings.Pprof != "" {
		stop, err := server.ServeProfiles(settings.Pprof, log.Logger)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Info("listening", "address", listener.Addr().String(), "public_url", settings.PublicURL)
	return srv.Serve(ctx, listener, settings.DrainDelay, settings.DrainTimeout)
}

// finishTimeout is how long a stopping server sends what its backup is missing. The rest is sent after the next start.
const finishTimeout = 10 * time.Second

// backupConfig reads who can read the backup, and its location.
func backupConfig(t Terminal, settings config.Serve) (c continuous.Config, err error) {
	if settings.Backup == "" {
		return c, nil
	}
	c.Dir = settings.Data
	if c.Recipients, err = backup.Recipients(settings.BackupRecipients); err != nil {
		return c, term.Usagef("--backup-recipient: %w", err)
	}
	if c.Target, err = openTarget(settings.Backup, t.Env); err != nil {
		return c, term.Usagef("--backup: %w", err)
	}
	return c, nil
}

// startBackup replicates the commits of the store until the returned function closes the store. If startBackup fails, that function only
// closes the store.
func startBackup(ctx context.Context, d *db.DB, c continuous.Config, log *server.Log) (*continuous.Shipper, func() error, error) {
	c.Store, c.Log = d.Embedded(), log.Logger
	ship, err := continuous.Start(c)
	if err != nil {
		return nil, d.Close, fmt.Errorf("start the backup: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // it continues while requests are answered
	done := make(chan struct{})
	go func() {
		defer close(done)
		ship.Run(running)
	}()
	return ship, func() error {
		stop()
		finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		defer cancel()
		select {
		case <-done:
		case <-finishing.Done(): // such as a file system that hangs
			log.Warn("the backup does not answer, and gets the last changes after the next start")
			return d.Close()
		}
		err := d.Close()
		if err := ship.Finish(finishing); err != nil {
			log.Warn("the backup does not have the last changes yet, and gets them after the next start", "error", err)
		}
		return err
	}, nil
}

func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}
	err = fmt.Errorf("listen on %s: %w", address, err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = withHint(err, "Another program uses this address, perhaps a bursar server that is still running. Stop it, or choose another address with --listen.")
	case errors.Is(err, syscall.EACCES):
		err = withHint(err, "Ports below 1024 need special rights: choose a higher one with --listen, or give the program CAP_NET_BIND_SERVICE, as deploy/bursar-tls.conf does.")
	}
	return nil, err
}

// findAuditKey finds the key that signs the audit log. An embedded store gets one at its first start, which made describes. A store that
// has lost its key continues without signatures.
func findAuditKey(ctx context.Context, d *db.DB, settings *config.Serve, log *server.Log) (made string, err error) {
	if settings.DatabaseURL != "" {
		return "", nil
	}
	given := settings.Audit.Key != ""
	settings.Audit.Key = settings.AuditKey(settings.Audit.Key)
	verifier, err := auditlog.Verifier(ctx, d)
	if err != nil {
		return "", err
	}
	if verifier != "" {
		if _, err := os.Stat(settings.Audit.Key); !given && errors.Is(err, fs.ErrNotExist) {
			log.Warn("the key of the audit log is missing", "file", settings.Audit.Key, "public_key", verifier)
			settings.Audit.Key = ""
		}
		return "", nil
	}
	key, err := auditlog.InitKey(ctx, d, settings.Audit.Key)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`The audit log is signed with a new key, which is in %s.
Keep a copy of its public key where nobody who runs this server can change it.
It shows whether the log was changed:

  %s

`, settings.Audit.Key, key.Verifier()), nil
}

// welcome sets up an empty store and prints how to use it.
func welcome(ctx context.Context, t Terminal, d *db.DB, settings config.Serve) (err error) {
	done, err := setup.Done(ctx, d)
	if err != nil || done {
		return err
	}
	var secrets *secretFile
	if settings.Public() {
		if secrets, err = newSecretFile(settings.Store); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, secrets.discard()) }()
	}
	made, err := setup.Run(ctx, d, operator(), setup.First{
		Email: "admin@example.com", Name: "Admin", Organization: "First organization", Workspace: "First workspace",
		PublicURL: settings.PublicURL, Mode: audit.SandboxMode,
	})
	if errors.Is(err, setup.ErrDone) {
		return nil // another node has just done it
	}
	if err != nil {
		return fmt.Errorf("set up the store: %w", err)
	}
	base := settings.PublicURL + "/v1"
	things := fmt.Sprintf(`This store is new. It now has an organization, a workspace and an admin.

  Base URL      %s
  Organization  %s
  Workspace     %s
  Admin         %s (admin@example.com)
`, base, made.OrganizationID, made.WorkspaceID, made.UserID)
	keys := fmt.Sprintf(`  API key       %s
  Console       %s

The key and the link are shown only once. Open the link in a browser within a day to
set up the admin's sign-in to the console; it works once. The key is for sandbox money
alone: 'bursar admin api-key create' makes others. Exchange it for a session token:

  curl -sS -X POST %s/auth/token -H 'Authorization: Bearer %s'

`, made.APIKey, made.Link, base, made.APIKey)
	if secrets == nil {
		_, err = fmt.Fprint(t.Out, things+keys)
		return err
	}
	if err := secrets.keep(things + keys); err != nil {
		return fmt.Errorf("%w: make the admin another link with 'bursar admin user link --email admin@example.com'", err)
	}
	_, err = fmt.Fprintf(t.Out, `%s  Secrets       %s

The file has the admin's API key and a link that sets up their sign-in to the console.
They are not printed here, because this output may end in a log. Only the owner of the
file can read it. Delete it when you have used them; the link works once, for a day.

`, things, secrets.path)
	return err
}
