package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

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
		Long: `Run the server. On an empty store it makes a first organization, workspace and
admin and prints, once, the admin's API key, a link by which the admin sets up how
to sign in to the console, and how to use them.

Every flag can be set by the environment variable in brackets. SIGTERM and
SIGINT drain: requests under way are answered, then the store is closed.`,
		Example: `  bursar serve
  bursar serve --data /var/lib/bursar --listen 0.0.0.0:8080 --public-url https://pay.example.com
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

// headroom is how much the heap grows before it is collected for the first time.
// What lives in it is a few MiB; without headroom the collector would run after as
// few more, a hundred times a second under load.
const headroom = 64 << 20

func serve(ctx context.Context, t Terminal, settings config.Serve, log *server.Log) (err error) {
	if settings.Pprof == "" {
		runtime.MemProfileRate = 0 // nobody can ask for it
	}
	var ballast []byte
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // an operator who set GOMEMLIMIT has decided
		// Memory that nobody touches: it counts for the collector, which waits until as
		// much again was allocated, and takes no room in the machine.
		ballast = make([]byte, headroom)
	}
	defer runtime.KeepAlive(ballast)
	d, err := db.Open(ctx, settings.DB())
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", settings.Listen, err)
	}
	defer func() { _ = listener.Close() }() // closed before by a proper shutdown
	if settings.PublicURL == "" {
		settings.PublicURL = "http://" + listener.Addr().String()
	}
	srv, err := server.New(ctx, d, settings, log)
	if err != nil {
		return err
	}
	if err := welcome(ctx, t, d, settings.PublicURL); err != nil {
		return err
	}
	if settings.Pprof != "" {
		stop, err := server.ServeProfiles(settings.Pprof, log.Logger)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Info("listening", "address", listener.Addr().String(), "public_url", settings.PublicURL)
	return srv.Serve(ctx, listener, settings.DrainTimeout)
}

// welcome sets an empty store up and tells how to use it, once.
func welcome(ctx context.Context, t Terminal, d *db.DB, publicURL string) error {
	done, err := setup.Done(ctx, d)
	if err != nil || done {
		return err
	}
	made, err := setup.Run(ctx, d, operator(), setup.First{
		Email: "admin@example.com", Name: "Admin", Organization: "First organization", Workspace: "First workspace",
		PublicURL: publicURL,
	})
	if errors.Is(err, setup.ErrDone) {
		return nil // another node was quicker
	}
	if err != nil {
		return fmt.Errorf("set up the store: %w", err)
	}
	base := publicURL + "/v1"
	_, err = fmt.Fprintf(t.Out, `This store is new. It now has an organization, a workspace and an admin.

  Base URL      %s
  Organization  %s
  Workspace     %s
  Admin         %s (admin@example.com)
  API key       %s
  Console       %s

The key and the link are shown this once. Open the link in a browser within a day
to set up how the admin signs in to the console; it is good once. Exchange the key
for a session token:

  curl -sS -X POST %s/auth/token -H 'Authorization: Bearer %s'

`, base, made.OrganizationID, made.WorkspaceID, made.UserID, made.APIKey, made.Link, base, made.APIKey)
	return err
}
