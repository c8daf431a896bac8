package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// benchmark calls the handler itself, without a network between.
func benchmark(b *testing.B, n *servertest.Node, token, method, path string, body func(i int64) string) {
	var count atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			request := httptest.NewRequest(method, path, strings.NewReader(body(count.Add(1))))
			request.Header.Set("Authorization", "Bearer "+token)
			recorder := httptest.NewRecorder()
			n.Server.ServeHTTP(recorder, request)
			if recorder.Code != http.StatusOK {
				b.Fatalf("%d %s", recorder.Code, recorder.Body)
			}
		}
	})
}

func noBody(int64) string { return "" }

func newEntry(workspaceID string) func(int64) string {
	return func(i int64) string {
		return fmt.Sprintf(`{"workspace_id":%q,"type":"person","fields":{"first-name":"Ada","last-name":"Lovelace %d","email":"ada%d@example.com"}}`,
			workspaceID, i, i)
	}
}

func eachEngine(b *testing.B, run func(b *testing.B, n *servertest.Node, admin *servertest.Client)) {
	for name, store := range map[string]func(testing.TB) dbtest.Store{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			n := servertest.Start(b, store(b))
			run(b, n, n.Admin(b))
		})
	}
}

func BenchmarkWhoAmI(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		benchmark(b, n, admin.Token, "GET", "/v1/auth/me", noBody)
	})
}

func BenchmarkListDirectory(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		entry := newEntry(n.First.WorkspaceID)
		for i := range 100 {
			admin.Post("/v1/directory", entry(int64(i))).OK()
		}
		b.ResetTimer()
		benchmark(b, n, admin.Token, "GET", "/v1/directory?workspace_id="+n.First.WorkspaceID, noBody)
	})
}

func BenchmarkCreateEntry(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		benchmark(b, n, admin.Token, "POST", "/v1/directory", newEntry(n.First.WorkspaceID))
	})
}

// BenchmarkCreateEntryWithWarning also looks for doubles, of which there are none.
func BenchmarkCreateEntryWithWarning(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		benchmark(b, n, admin.Token, "POST", "/v1/directory?on_duplicate=warn", newEntry(n.First.WorkspaceID))
	})
}

// BenchmarkUpdateEntry includes that its audit row tells what changed.
func BenchmarkUpdateEntry(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		path := "/v1/directory/" + admin.Post("/v1/directory", newEntry(n.First.WorkspaceID)(0)).OK().Text("id")
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			request := httptest.NewRequest("PATCH", path, strings.NewReader(fmt.Sprintf(`{"fields":{"last-name":"Byron %d","phone":"+63 %d"},"tags":["t%d"]}`, i, i, i%2)))
			request.Header.Set("Authorization", "Bearer "+admin.Token)
			recorder := httptest.NewRecorder()
			n.Server.ServeHTTP(recorder, request)
			if recorder.Code != http.StatusOK {
				b.Fatalf("%d %s", recorder.Code, recorder.Body)
			}
		}
	})
}

// A token that was seen before, as nearly all are.
func BenchmarkTokenCheck(b *testing.B) {
	n := servertest.Start(b, dbtest.SQLite(b))
	authorization := "Bearer " + n.Admin(b).Token
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Identity.Authenticate(b.Context(), authorization, func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuditList(b *testing.B) {
	eachEngine(b, func(b *testing.B, n *servertest.Node, admin *servertest.Client) {
		entry := newEntry(n.First.WorkspaceID)
		for i := range 100 {
			admin.Post("/v1/directory", entry(int64(i))).OK()
		}
		b.ResetTimer()
		benchmark(b, n, admin.Token, "GET", "/v1/audit?workspace_id="+n.First.WorkspaceID, noBody)
	})
}
