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
		ActorID: text, ActorType: text, ResourceType: text, ResourceID: text, RequestID: text, IP: text, Seq: 3,
		Changes: changesOf(text),
	}
}

func changesOf(text string) audit.Changes {
	var changes audit.Changes
	if text != "" {
		changes.Add("fields."+text, nil, text)
		changes.Add("fields.object", map[string]any{"a": []int{1, 2}, "b": text}, 1.5)
	}
	return changes
}

func TestAStoredRowIsSentAsTheEncoderWouldSendIt(t *testing.T) {
	for _, text := range oddTexts() {
		entry := entryOf(text)
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		kept, personal := audit.AppendEntry([]byte("x"), entry)[1:], audit.AppendPersonal([]byte("x"), entry)[1:]
		if got := audit.AppendJSON([]byte("x"), []byte(entry.ID), kept, personal, entry.Seq); string(got) != "x"+string(want) {
			t.Errorf("%q is sent as %s, want %s", text, got, want)
		}
		read, err := audit.ReadStored(entry.ID, kept, personal, entry.Seq)
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
	kept, personal := audit.AppendEntry(nil, entry), audit.AppendPersonal(nil, entry)
	for end := range len(kept) - 1 { // without its bracket the row is still complete
		if got, err := audit.ReadStored(entry.ID, kept[:end], personal, 0); err == nil && cmp.Equal(got, entry) {
			t.Errorf("%s was read as a whole row", kept[:end])
		}
	}
	for end := range len(personal) - 1 {
		if got, err := audit.ReadStored(entry.ID, kept, personal[:end], 0); err == nil && cmp.Equal(got, entry) {
			t.Errorf("%s was read as a whole row", personal[:end])
		}
	}
}

func TestAnErasedRowContainsOnlyWhatIsKept(t *testing.T) {
	entry := entryOf("text")
	got, err := audit.ReadStored(entry.ID, audit.AppendEntry(nil, entry), nil, 7)
	if err != nil {
		t.Fatal(err)
	}
	entry.ActorName, entry.ActorEmail, entry.Description, entry.IP, entry.Changes, entry.Seq, entry.Erased = "", "", "", "", nil, 7, true
	if diff := cmp.Diff(entry, got); diff != "" {
		t.Errorf("the row as expected (-) and as read (+):\n%s", diff)
	}
}

func TestFilterKeysDistinguishPropertiesWorkspacesAndValues(t *testing.T) {
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
