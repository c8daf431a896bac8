// Command bench measures Bursar against the physical limit and against what a user
// would pick instead.
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
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who reads along may leave: that is an error, not the end
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
	o, err := parse(args, log)
	if err != nil {
		return err
	}
	return measure(ctx, o, out, log)
}

func serveBare(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s takes an address, a store, a workspace and a body", subject.BareCommand)
	}
	return bare.Serve(ctx, bare.Config{Listen: args[0], Path: args[1], WorkspaceID: args[2], Me: args[3]}, func(string) {})
}
