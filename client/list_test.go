package client_test

import (
	"context"
	"errors"
	"fmt"
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

func TestAWholeListAndItsPagesAgree(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	c, _ := admin(t, n)
	ctx, ws := t.Context(), n.First.WorkspaceID
	for _, name := range []string{"b", "a", "c"} {
		must[*client.Tag](t)(c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: ws, Name: name}))
	}
	whole := must[*client.Page[client.Tag]](t)(c.Tags.List(ctx, ws, client.ListParams{}))
	var walked []client.Tag
	for tag, err := range c.Tags.All(ctx, ws, client.ListParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		walked = append(walked, tag)
	}
	if whole.HasMore || len(walked) != 3 || !slices.Equal(walked, whole.Items) {
		t.Errorf("pages give %+v, the whole list is %+v", walked, whole)
	}
}
