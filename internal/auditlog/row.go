package auditlog

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"bursar/api"
)

// Columns returns the header of a table of rows: the names of the API, after a column
// with the time in a readable format.
func Columns() []string {
	return []string{"time", "id", "action", "actor_name", "actor_email", "description", "outcome", "timestamp",
		"actor_id", "actor_type", "resource_type", "resource_id", "request_id", "ip", "changes"}
}

// timeForm is the format of times: RFC 3339 in UTC, to the millisecond.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

func timeText(at int64) string { return time.UnixMilli(at).UTC().Format(timeForm) }

// Cells returns a row as a line of a table with the header of Columns.
func Cells(r api.AuditEntry) []string {
	return []string{timeText(r.Timestamp), r.ID, r.Action, r.ActorName, r.ActorEmail, r.Description, r.Outcome, strconv.FormatInt(r.Timestamp, 10),
		r.ActorID, r.ActorType, r.ResourceType, r.ResourceID, r.RequestID, r.IP, changesText(r.Changes)}
}

// changesText returns changes as JSON, "" for none.
func changesText(changes []api.AuditChange) string {
	if len(changes) == 0 {
		return ""
	}
	text, err := json.Marshal(changes)
	if err != nil {
		return err.Error() // a stored row has only valid JSON
	}
	return string(text)
}
