package audit_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/audit"
)

func oddTexts() []string {
	return []string{"", "Ada", `"`, `\`, `\"`, `ends in \`, `a "quoted" \ back/slash`, "line\nbreak\x00\x1f\x7f", "<&>\u2028é漢😀", `","x":"`, "],[", `["`}
}

func entryOf(text string) api.AuditEntry {
	return api.AuditEntry{
		ID: "aud_01m7fersya000ekg2krtm4xs30", Action: text, ActorName: text, ActorEmail: text, Description: text, Outcome: text, Timestamp: 1_700_000_000_001,
		ActorID: text, ActorType: text, ResourceType: text, ResourceID: text, RequestID: text, IP: text,
	}
}

func TestAStoredRowIsSentAsTheEncoderWouldSendIt(t *testing.T) {
	for _, text := range oddTexts() {
		entry := entryOf(text)
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		stored := audit.AppendStored([]byte("x"), entry)[1:]
		if got := audit.AppendJSON([]byte("x"), []byte(entry.ID), stored, entry.Seq); string(got) != "x"+string(want) {
			t.Errorf("%q is sent as %s, want %s", text, got, want)
		}
		read, err := audit.ReadStored(entry.ID, stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entry, read); diff != "" {
			t.Errorf("%q was stored (-) and read (+) differently:\n%s", text, diff)
		}
	}
}

// Damaged rows must not panic, and must not be read as if they were whole.
func TestARowThatWasCutOffIsNotReadAsAWholeOne(t *testing.T) {
	entry := entryOf(`a "quoted" \ text`)
	whole := audit.AppendStored(nil, entry)
	for end := range len(whole) - 1 { // without its bracket the row is still complete
		if got, err := audit.ReadStored(entry.ID, whole[:end]); err == nil && got == entry {
			t.Errorf("%s was read as a whole row", whole[:end])
		}
	}
}

func TestFilterKeysTellPropertiesWorkspacesAndValuesApart(t *testing.T) {
	seen := map[int64]string{}
	for _, by := range []audit.Filter{audit.ByActor, audit.ByAction, audit.ByResourceType, audit.ByResource, audit.ByOutcome} {
		for _, workspace := range []string{"", "ws_1", "ws_2"} {
			for _, value := range []string{"", "a", "b", "ws_1"} {
				name := strings.Join([]string{string(by), workspace, value}, "|")
				key := audit.FilterKey(by, workspace, value)
				if other, taken := seen[key]; taken {
					t.Errorf("%s and %s have the same key", name, other)
				}
				seen[key] = name
			}
		}
	}
}

func TestOnlySuccessHasNoOutcomeKey(t *testing.T) {
	for outcome, none := range map[audit.Outcome]bool{audit.Success: true, audit.Denied: false, audit.Failure: false} {
		if got := audit.OutcomeKey("ws_1", outcome); (got == nil) != none {
			t.Errorf("the key of %s is %v", outcome, got)
		}
	}
}
