package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

// asShipped is the PRAGMA synchronous of core.DefaultDBConnect.
const asShipped = "NORMAL"

func newApp(dir string, connect core.DBConnectFunc) *pocketbase.PocketBase {
	return pocketbase.NewWithConfig(pocketbase.Config{
		HideStartBanner: true,
		DefaultDataDir:  dir,
		DBConnect:       connect,
	})
}

// serve does what PocketBase's own command does, but returns errors.
func serve(ctx context.Context, dir, address, synchronous string) error {
	connect, err := connectWith(synchronous)
	if err != nil {
		return err
	}
	app := newApp(dir, connect)
	if err := app.Bootstrap(); err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil // it would open a browser
		return e.Next()
	})
	served := make(chan error, 1)
	go func() {
		served <- apis.Serve(app, apis.ServeConfig{HttpAddr: address})
	}()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	event := &core.TerminateEvent{App: app}
	stopErr := app.OnTerminate().Trigger(event, func(e *core.TerminateEvent) error {
		return e.App.ResetBootstrapState()
	})
	if err != nil {
		return fmt.Errorf("serve at %s: %w", address, err)
	}
	if stopErr != nil {
		return fmt.Errorf("stop: %w", stopErr)
	}
	return nil
}

// connectWith returns nil, which is PocketBase's own way, for the mode that it ships with. The
// other pragmas are always those of core.DefaultDBConnect.
func connectWith(synchronous string) (core.DBConnectFunc, error) {
	switch mode := strings.ToUpper(synchronous); mode {
	case asShipped:
		return nil, nil
	case "FULL", "EXTRA", "OFF":
		return func(path string) (*dbx.DB, error) {
			return openSQLite(path, "busy_timeout(10000)", "journal_mode(WAL)", "journal_size_limit(200000000)",
				"synchronous("+mode+")", "foreign_keys(ON)", "temp_store(MEMORY)", "cache_size(-32000)")
		}, nil
	}
	return nil, fmt.Errorf("unknown --synchronous %q: OFF, NORMAL, FULL or EXTRA", synchronous)
}

func openSQLite(path string, pragmas ...string) (*dbx.DB, error) {
	db, err := dbx.Open("sqlite", path+"?_pragma="+strings.Join(pragmas, "&_pragma="))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}
