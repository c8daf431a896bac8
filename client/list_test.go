package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"

	"bursar/client"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func people(t *testing.T, c *client.Client, ws string, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, must[*client.Created](t)(c.Directory.Create(t.Context(), client.EntryCreateParams{
			WorkspaceID: ws, Type: client.TypePerson, Name: new(fmt.Sprintf("Person %d", i)),
		})).ID)
	}
	slices.Reverse(ids) // newest first
	return ids
}

func TestAllWalksOverEveryPage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s)
		c, way := admin(t, n)
		want := people(t, c, n.First.WorkspaceID, 7)
		seq := c.Directory.All(t.Context(), client.DirectoryListParams{WorkspaceID: n.First.WorkspaceID, Limit: 3})
		for range 2 { // a sequence can be walked over again
			before := way.count("GET /v1/directory")
			var got []string
			for entry, err := range seq {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, entry.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if pages := way.count("GET /v1/directory") - before; pages != 3 {
				t.Errorf("%d pages of 3 for 7 entries", pages)
			}
		}
	})
}

func TestBreakingOffAsksForNoFurtherPage(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, way := admin(t, n)
	people(t, c, n.First.WorkspaceID, 5)
	seen := 0
	for _, err := range c.Directory.All(t.Context(), client.DirectoryListParams{WorkspaceID: n.First.WorkspaceID, Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 2 {
			break
		}
	}
	if pages := way.count("GET /v1/directory"); pages != 1 {
		t.Errorf("%d pages for 2 entries", pages)
	}
}

func TestAWalkBeginsAtItsCursor(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	want := people(t, c, n.First.WorkspaceID, 5)
	p := client.DirectoryListParams{WorkspaceID: n.First.WorkspaceID, Limit: 2}
	page := must[*client.Page[client.EntrySummary]](t)(c.Directory.List(t.Context(), p))
	if !page.HasMore || page.Cursor == "" || len(page.Items) != 2 {
		t.Fatalf("the first page: %+v", page)
	}
	p.Cursor = page.Cursor
	var got []string
	for entry, err := range c.Directory.All(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.ID)
	}
	if !slices.Equal(got, want[2:]) {
		t.Errorf("got %v, want %v", got, want[2:])
	}
}

func TestAnErrorIsTheLastOfAWalk(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	people(t, c, n.First.WorkspaceID, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failures []error
	entries := 0
	for _, err := range c.Directory.All(ctx, client.DirectoryListParams{WorkspaceID: n.First.WorkspaceID, Limit: 2}) {
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if entries++; entries == 2 {
			cancel()
		}
	}
	if entries != 2 || len(failures) != 1 || !errors.Is(failures[0], context.Canceled) {
		t.Errorf("%d entries, then %v", entries, failures)
	}
}

// Whatever has a whole list can also be walked over in pages.
func TestWholeListsAndTheirPagesAgree(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	ctx, ws := t.Context(), n.First.WorkspaceID
	for i := range 2 {
		must[*client.NewAPIKey](t)(c.Keys.Create(ctx, client.KeyCreateParams{Name: "key"}))
		must[*client.Tag](t)(c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: ws, Name: fmt.Sprintf("tag %d", i)}))
		must[*client.MemberAdded](t)(c.Members.Add(ctx, ws, client.MemberAddParams{Email: servertest.NewEmail(), Role: "viewer"}))
		must[*client.Organization](t)(c.Organizations.Create(ctx, client.OrganizationCreateParams{Name: "Org"}))
		must[*client.Workspace](t)(c.Workspaces.Create(ctx, client.WorkspaceCreateParams{Name: "Room", OrganizationID: n.First.OrganizationID}))
	}
	one := client.ListParams{Limit: 1}
	t.Run("keys", func(t *testing.T) { agree(t, c.Keys.List, c.Keys.All, one) })
	t.Run("workspaces", func(t *testing.T) { agree(t, c.Workspaces.List, c.Workspaces.All, one) })
	t.Run("organizations", func(t *testing.T) { agree(t, c.Organizations.List, c.Organizations.All, one) })
	t.Run("tags", func(t *testing.T) { agree(t, of(ws, c.Tags.List), allOf(ws, c.Tags.All), one) })
	t.Run("members", func(t *testing.T) { agree(t, of(ws, c.Members.List), allOf(ws, c.Members.All), one) })
	t.Run("roles", func(t *testing.T) { agree(t, of(ws, c.Roles.List), allOf(ws, c.Roles.All), one) })
}

// of leaves out the workspace of a list.
func of[T any](ws string, list func(context.Context, string, client.ListParams) (*client.Page[T], error)) func(context.Context, client.ListParams) (*client.Page[T], error) {
	return func(ctx context.Context, p client.ListParams) (*client.Page[T], error) { return list(ctx, ws, p) }
}

// allOf leaves out the workspace of a walk.
func allOf[T any](ws string, all func(context.Context, string, client.ListParams) iter.Seq2[T, error]) func(context.Context, client.ListParams) iter.Seq2[T, error] {
	return func(ctx context.Context, p client.ListParams) iter.Seq2[T, error] { return all(ctx, ws, p) }
}

func agree[T any](t *testing.T, list func(context.Context, client.ListParams) (*client.Page[T], error),
	all func(context.Context, client.ListParams) iter.Seq2[T, error], pages client.ListParams) {
	t.Helper()
	whole := must[*client.Page[T]](t)(list(t.Context(), client.ListParams{}))
	if whole.HasMore || whole.Cursor != "" || len(whole.Items) < 2 {
		t.Fatalf("the whole list: %+v", whole)
	}
	for _, p := range []client.ListParams{{}, pages} {
		var walked []T
		for item, err := range all(t.Context(), p) {
			if err != nil {
				t.Fatal(err)
			}
			walked = append(walked, item)
		}
		if !reflect.DeepEqual(walked, whole.Items) {
			t.Errorf("with %+v got %+v, want %+v", p, walked, whole.Items)
		}
	}
}

func TestAuditAndActivityAreWalkedOver(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	people(t, c, n.First.WorkspaceID, 5)
	for range 3 {
		must[*client.NewAPIKey](t)(c.Keys.Create(t.Context(), client.KeyCreateParams{Name: "key"}))
	}
	created := 0
	for row, err := range c.Audit.All(t.Context(), client.AuditListParams{WorkspaceID: n.First.WorkspaceID, Action: "directory.entry.created", Limit: 2}) {
		if err != nil || row.Action != "directory.entry.created" {
			t.Fatalf("%+v, %v", row, err)
		}
		created++
	}
	if created != 5 {
		t.Errorf("%d rows, want 5", created)
	}
	keys := 0
	for row, err := range c.Auth.AllActivity(t.Context(), client.ListParams{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Action == "auth.key.created" {
			keys++
		}
	}
	if keys < 3 {
		t.Errorf("%d new keys, want 3 or more", keys)
	}
}
