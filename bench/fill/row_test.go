package fill

import (
	"reflect"
	"testing"

	"bursar/internal/db"
)

func TestCopiesOfARowDifferOnlyWhereTheyShould(t *testing.T) {
	const created = 1_763_000_000_123
	id, request := db.FirstID("entry", created), db.FirstID("req", created)
	row := newRow([]string{"id", "other", "at", "flag", "none", "sent"},
		[]any{pack(id), pack(db.FirstID("aud", 7)), int64(created), int64(1), nil, `{"id":"` + id + `","request":"` + request + `","at":1763000000123,"user":"usr_0","type":"person"}`},
		Vary{At: func(i int) int64 { return int64(created + i) }, Texts: []Text{{"person", func(int) string { return "robot" }}}})
	newID, newRequest := db.FirstID("entry", created+5), db.FirstID("req", created+5)
	want := []any{pack(newID), pack(db.FirstID("aud", created+5)), int64(created + 5), int64(1), nil, `{"id":"` + newID + `","request":"` + newRequest + `","at":1763000000128,"user":"usr_0","type":"robot"}`}
	if got := row.Values(5); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
