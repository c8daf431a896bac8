package web

import (
	"net/http/httptest"
	"strconv"
	"testing"

	"bursar/api"
)

type benchInput struct {
	WorkspaceID string     `json:"workspace_id" required:"true"`
	Type        string     `json:"type" required:"true"`
	Fields      api.Fields `json:"fields" required:"true"`
	Name        *string    `json:"name"`
	Tags        []string   `json:"tags"`
}

func BenchmarkBindBody(b *testing.B) {
	body := []byte(`{"workspace_id":"ws_1","type":"person","fields":{"first-name":"Ada","email":"ada@example.com"},"tags":["team"]}`)
	x := &Exchange{R: httptest.NewRequest("POST", "/v1/directory", nil)}
	bind := newBinder[benchInput](func() int64 { return 0 })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bind.request(x, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBindQuery(b *testing.B) {
	x := &Exchange{R: httptest.NewRequest("GET", "/v1/directory?workspace_id=ws_1&limit=50", nil)}
	bind := newBinder[struct {
		WorkspaceID string `query:"workspace_id" required:"true"`
		PageParams
	}](func() int64 { return 0 })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bind.request(x, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnvelope(b *testing.B) {
	answer := struct {
		ID    string `json:"id"`
		Email string `json:"email"`
	}{"usr_1", "ada@example.com"}
	buffer := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := appendAnswer(buffer, answer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListEncoder(b *testing.B) {
	cursors := NewCursors([]byte("key"))
	row := []byte(`{"id":"entry_1","type":"person","label":"Ada Lovelace","status":"active","fields":{"email":"ada@example.com"}}`)
	write := func(dst []byte) []byte { return append(dst, row...) }
	position := []byte("entry_" + strconv.Itoa(1))
	b.ReportAllocs()
	for b.Loop() {
		window, err := cursors.Paged(PageParams{}, Descending, "directory", "ws_1")
		if err != nil {
			b.Fatal(err)
		}
		page := NewJSONPage[api.EntrySummary](window)
		for range window.Limit {
			page.Row(position, write)
		}
		page.finish()
		page.release()
	}
}
