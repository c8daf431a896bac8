// Command kratos is Ory Kratos as a peer of the benchmark: Kratos itself and two commands
// of the benchmark. Build it with -tags sqlite and with cgo.
//
//	kratos setup --dir D --dsn DSN --entries N
//	kratos serve --dir D --dsn DSN --public 127.0.0.1:PORT --admin 127.0.0.1:PORT
//
// DSN is sqlite:///D/kratos.db?_fk=true or postgres://… of an empty database. setup
// prints one line of JSON (see ready). With its values the requests are as follows;
// those of /admin go to the admin address, need no credentials, and all but GET need
// Content-Type: application/json.
//
//	who am I  GET   /sessions/whoami, at the public address, with X-Session-Token: <session_token>
//	list      GET   /admin/identities?page_size=25
//	read      GET   /admin/identities/{id}
//	create    POST  /admin/identities
//	          {"schema_id":"person","traits":{"email":"ada{n}@example.com","name":"Ada {n}"}}
//	update    PATCH /admin/identities/{id}
//	          [{"op":"replace","path":"/traits/name","value":"Ada {n}"}]
//
// The answer to a create has the status 201, all others have 200.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/ory/kratos/cmd"
)

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) > 0 && args[0] == "setup":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = runSetup(ctx, args[1:], os.Stdout)
		stop()
	case len(args) > 0 && args[0] == "serve":
		// Kratos reads os.Args.
		os.Args, err = serveArgs(os.Args[0], args[1:])
		if err == nil {
			os.Exit(cmd.Execute())
		}
	default: // Kratos also starts itself, to run Jsonnet in a separate process
		os.Exit(cmd.Execute())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kratos:", err)
		os.Exit(1)
	}
}

func runSetup(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("setup", flag.ContinueOnError)
	var s settings
	s.register(flags)
	entries := flags.Int("entries", 0, "identities besides the one that is signed in")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the flags of setup: %w", err)
	}
	got, err := setup(ctx, s, *entries)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	if err := json.NewEncoder(out).Encode(got); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// serveArgs writes the configuration and returns the arguments that make Kratos use it.
func serveArgs(program string, args []string) ([]string, error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	var s settings
	s.register(flags)
	flags.StringVar(&s.public, "public", "127.0.0.1:4433", "public address")
	flags.StringVar(&s.admin, "admin", "127.0.0.1:4434", "admin address")
	if err := flags.Parse(args); err != nil {
		return nil, fmt.Errorf("read the flags of serve: %w", err)
	}
	path, err := s.write()
	if err != nil {
		return nil, err
	}
	return []string{program, "serve", "--config", path, "--sqa-opt-out"}, nil
}
