// Command pocketbase is PocketBase as a peer of the benchmark, with our directory
// as one of its collections.
//
//	pocketbase fill  --dir D --entries N --logs M [--workspaces W]
//	pocketbase serve --dir D --http 127.0.0.1:PORT [--synchronous FULL]
//
// fill prints one line of JSON (see filled). With its values the requests are as
// follows; all have the header Authorization: <token>, without Bearer.
//
//	who am I       GET   /api/collections/users/records/{user_id}
//	list           GET   /api/collections/directory/records?perPage=25&sort=-id&skipTotal=1&filter=(workspace='{workspace}')
//	list, counted  the same without skipTotal
//	read           GET   /api/collections/directory/records/{id}
//	create         POST  /api/collections/directory/records
//	               a record of the directory, like those of fill
//	update         PATCH /api/collections/directory/records/{id}
//	               a change of one of its fields
//	refresh        POST  /api/collections/users/auth-refresh
//	log            GET   /api/logs?perPage=25&sort=-@rowid&skipTotal=1
//	log, filtered  the same with filter=(level=8)
//
// The value of filter must be escaped for a URL. Requests for the log need superuser_token,
// and POST and PATCH need Content-Type: application/json. The log is requested in the
// order that PocketBase's own dashboard uses, because created has no index. All answers
// have the status 200.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pocketbase:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("a command is missing: fill or serve")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	dir := flags.String("dir", "", "data directory")
	switch args[0] {
	case "fill":
		var want amounts
		flags.IntVar(&want.entries, "entries", 0, "entries of the directory")
		flags.IntVar(&want.logs, "logs", 0, "rows of the log")
		flags.IntVar(&want.workspaces, "workspaces", 1, "workspaces that the entries are spread over")
		if err := parse(flags, args[1:], dir); err != nil {
			return err
		}
		got, err := fill(ctx, *dir, want)
		if err != nil {
			return fmt.Errorf("fill %s: %w", *dir, err)
		}
		return json.NewEncoder(out).Encode(got)
	case "serve":
		address := flags.String("http", "127.0.0.1:8090", "address to listen at")
		synchronous := flags.String("synchronous", asShipped, "PRAGMA synchronous of its connections")
		if err := parse(flags, args[1:], dir); err != nil {
			return err
		}
		return serve(ctx, *dir, *address, *synchronous)
	}
	return fmt.Errorf("unknown command %q: fill or serve", args[0])
}

func parse(flags *flag.FlagSet, args []string, dir *string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read the flags of %s: %w", flags.Name(), err)
	}
	if *dir == "" {
		return fmt.Errorf("%s: --dir is missing", flags.Name())
	}
	return nil
}
