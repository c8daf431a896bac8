package api

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestAppendedAnswersAreThoseOfTheEncoder(t *testing.T) {
	for _, text := range []string{"", "Ada", `a "quoted" \ back/slash`, "line\nbreak\x00\x1f", "<&>\u2028é漢😀"} {
		for _, answer := range []interface{ AppendJSON([]byte) []byte }{User{ID: text, Email: text, Name: text}, Created{ID: text}, auditEntry(text)} {
			want, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if got := answer.AppendJSON([]byte("x")); string(got) != "x"+string(want) {
				t.Errorf("%T of %q: %s, want %s", answer, text, got, want)
			}
		}
	}
}

func auditEntry(text string) AuditEntry {
	return AuditEntry{
		ID: text, Action: text, ActorName: text, ActorEmail: text, Description: text, Outcome: text, Timestamp: int64(len(text)), ActorID: text,
		ActorType: text, ResourceType: text, ResourceID: text, RequestID: text, IP: text,
	}
}
