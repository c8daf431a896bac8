// Command bench measures Bursar beside the least that a Go server can do and beside programs
// that could be used in its place.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"bursar/bench/bare"
	"bursar/bench/subject"
)

func main() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe is a failed write, not the end of the program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "bench: stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func execute(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) > 0 && args[0] == subject.BareCommand {
		return serveBare(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == subject.BarePayoutsCommand {
		return serveBarePayouts(ctx, args[1:])
	}
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	return measure(ctx, o, out, log)
}

func serveBare(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("%s takes an address, a store, a workspace, an entry and a body", subject.BareCommand)
	}
	return bare.Serve(ctx, bare.Config{Listen: args[0], Path: args[1], WorkspaceID: args[2], SourceID: args[3], Me: args[4]})
}

func serveBarePayouts(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s takes an address, a store, a workspace and an account", subject.BarePayoutsCommand)
	}
	return bare.ServePayouts(ctx, bare.PayoutConfig{Listen: args[0], Store: args[1], WorkspaceID: args[2], AccountID: args[3]})
}
