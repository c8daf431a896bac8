package auditlog_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/auditlog"
)

func TestARecordHasACellForEveryColumn(t *testing.T) {
	row := api.AuditEntry{
		ID: "aud_1", Action: "directory.entry.created", ActorName: "Ada", ActorEmail: "ada@example.com", Description: "Created person Ada",
		Outcome: "success", Timestamp: 1_700_000_000_001, ActorID: "usr_1", ActorType: "user",
		ResourceType: "directory_entry", ResourceID: "entry_1", RequestID: "req", IP: "127.0.0.1",
		Changes: []api.AuditChange{{Field: "label", Before: []byte(`"Ada"`), After: []byte(`null`)}},
	}
	got := map[string]string{}
	for i, cell := range auditlog.Cells(row) {
		got[auditlog.Columns()[i]] = cell
	}
	want := map[string]string{
		"time": "2023-11-14T22:13:20.001Z", "id": "aud_1", "action": "directory.entry.created", "actor_name": "Ada",
		"actor_email": "ada@example.com", "description": "Created person Ada", "outcome": "success", "timestamp": "1700000000001",
		"actor_id": "usr_1", "actor_type": "user", "resource_type": "directory_entry", "resource_id": "entry_1", "request_id": "req", "ip": "127.0.0.1",
		"changes": `[{"field":"label","before":"Ada","after":null}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	kind := reflect.TypeFor[api.AuditEntry]()
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if name == "seq" || name == "erased" {
			continue // a row gets its place after it was written, and a file of the same rows stays the same; what was erased is seen
		}
		if !slices.Contains(auditlog.Columns(), name) {
			t.Errorf("there is no column for %s", name)
		}
	}
}
