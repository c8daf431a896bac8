package client_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/server"
	"bursar/internal/setup"
	"bursar/internal/vault"
)

// demo is a server for an example, with its first admin.
type demo struct {
	url  string
	stop func()
	setup.Result
}

// startServer runs a real server on a fresh store. It stands for the one that you
// have.
func startServer() demo {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bursar-example")
	check(err)
	store, err := db.Open(ctx, db.Config{Dir: dir})
	check(err)
	const publicURL = "https://bursar.example"
	s, err := server.New(ctx, store, vault.New(store, vault.Config{KeyFile: filepath.Join(dir, "vault.key"), Make: true}), config.Serve{
		PublicURL: publicURL, RateLimit: "off", DeviceSessionTTL: 12 * time.Hour, KeySessionTTL: time.Hour,
		WebSessionTTL: time.Hour, WebSessionIdle: time.Hour,
	}, server.NewLog(io.Discard, slog.LevelError))
	check(err)
	first, err := setup.Run(ctx, store, db.Caller{}, setup.First{
		Email: "ada@example.com", Name: "Ada Lovelace", Organization: "Acme", Workspace: "Treasury", PublicURL: publicURL,
	})
	check(err)
	listener := httptest.NewServer(s)
	return demo{listener.URL, func() {
		listener.Close()
		store.Close()
		os.RemoveAll(dir)
	}, first}
}

// check ends an example that cannot go on.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
