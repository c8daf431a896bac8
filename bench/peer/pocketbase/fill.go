package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pocketbase/pocketbase/core"
)

// amounts are the numbers of rows that fill creates.
type amounts struct {
	entries    int
	logs       int
	workspaces int
}

// filled is what the benchmark needs to know of the store.
type filled struct {
	Token          string   `json:"token"`
	UserID         string   `json:"user_id"`
	SuperuserToken string   `json:"superuser_token"`
	Workspace      string   `json:"workspace"`
	EntryIDs       []string `json:"entry_ids"` // the newest ones of Workspace
}

const shownIDs = 500

func fill(ctx context.Context, dir string, want amounts) (filled, error) {
	if want.workspaces < 1 {
		return filled{}, fmt.Errorf("%d workspaces: at least one is needed", want.workspaces)
	}
	if _, err := os.Stat(filepath.Join(dir, "data.db")); err == nil {
		return filled{}, fmt.Errorf("there is a database already")
	}
	got, err := prepare(dir)
	if err != nil {
		return filled{}, err
	}
	got.Workspace = workspaceName(0)
	if got.EntryIDs, err = fillEntries(ctx, filepath.Join(dir, "data.db"), want); err != nil {
		return filled{}, fmt.Errorf("entries: %w", err)
	}
	if err := fillLogs(ctx, filepath.Join(dir, "auxiliary.db"), want.logs, time.Now().UTC()); err != nil {
		return filled{}, fmt.Errorf("logs: %w", err)
	}
	return got, nil
}

// prepare uses PocketBase's own functions for all but the many rows.
func prepare(dir string) (got filled, err error) {
	app := newApp(dir, nil)
	if err := app.Bootstrap(); err != nil {
		return filled{}, fmt.Errorf("bootstrap: %w", err)
	}
	defer func() {
		if closeErr := app.ResetBootstrapState(); closeErr != nil && err == nil {
			err = fmt.Errorf("close: %w", closeErr)
		}
	}()
	if err := app.RunAllMigrations(); err != nil {
		return filled{}, fmt.Errorf("migrate: %w", err)
	}
	batch := &app.Settings().Batch // which is off by default
	batch.Enabled, batch.MaxRequests, batch.Timeout = true, 500, 60
	if err := app.Save(app.Settings()); err != nil {
		return filled{}, fmt.Errorf("allow batches: %w", err)
	}
	if err := app.Save(directory()); err != nil {
		return filled{}, fmt.Errorf("create the collection: %w", err)
	}
	if got.UserID, got.Token, err = signUp(app, "users"); err != nil {
		return filled{}, err
	}
	if _, got.SuperuserToken, err = signUp(app, core.CollectionNameSuperusers); err != nil {
		return filled{}, err
	}
	return got, nil
}

// directory is Bursar's directory as a collection. Its rules are simpler than Bursar's: any
// user may read and write every workspace.
func directory() *core.Collection {
	signedIn := `@request.auth.id != ""`
	c := core.NewBaseCollection("directory")
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule = &signedIn, &signedIn, &signedIn, &signedIn
	c.Fields.Add(
		&core.TextField{Name: "workspace", Required: true},
		&core.TextField{Name: "type", Required: true},
		&core.TextField{Name: "label", Required: true},
		&core.TextField{Name: "status", Required: true},
		&core.JSONField{Name: "fields"},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.AddIndex("directory_newest", false, "workspace, id", "")
	c.AddIndex("directory_type", false, "workspace, type, id", "")
	c.AddIndex("directory_status", false, "workspace, status, id", "")
	return c
}

func signUp(app core.App, collection string) (id, token string, err error) {
	c, err := app.FindCollectionByNameOrId(collection)
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", collection, err)
	}
	r := core.NewRecord(c)
	r.SetEmail("bench@example.com")
	r.SetPassword("correct-horse-battery")
	r.SetVerified(true)
	if err := app.Save(r); err != nil {
		return "", "", fmt.Errorf("sign up with %s: %w", collection, err)
	}
	if token, err = r.NewAuthToken(); err != nil {
		return "", "", fmt.Errorf("sign in with %s: %w", collection, err)
	}
	return r.Id, token, nil
}
