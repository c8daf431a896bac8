package auditlog

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/db"
)

// readRow reads a row of columns.
func readRow(r db.Rows) api.AuditEntry {
	return api.AuditEntry{
		ID: r.Text(0), Action: r.Text(1), ActorName: r.Text(2), ActorEmail: r.Text(3), Description: r.Text(4),
		Outcome: r.Text(5), Timestamp: r.Int(6), ActorID: r.Text(7), ActorType: r.Text(8),
		ResourceType: r.Text(9), ResourceID: r.Text(10), RequestID: r.Text(11), IP: r.Text(12),
	}
}

// Columns is the head of a table of rows. Beside the names of the API it has the
// time as people read it.
func Columns() []string {
	return []string{"time", "id", "action", "actor_name", "actor_email", "description", "outcome", "timestamp",
		"actor_id", "actor_type", "resource_type", "resource_id", "request_id", "ip"}
}

// timeForm is RFC 3339 in UTC, to the millisecond.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

func timeText(at int64) string { return time.UnixMilli(at).UTC().Format(timeForm) }

// Record is a row as a line of such a table. Its cells are safe to open as a
// spreadsheet: see plainCell.
func Record(r api.AuditEntry) []string {
	record := []string{timeText(r.Timestamp), r.ID, r.Action, r.ActorName, r.ActorEmail, r.Description, r.Outcome, strconv.FormatInt(r.Timestamp, 10),
		r.ActorID, r.ActorType, r.ResourceType, r.ResourceID, r.RequestID, r.IP}
	for i, cell := range record {
		record[i] = plainCell(cell)
	}
	return record
}

// plainCell puts an apostrophe before what a spreadsheet would take for a formula:
// names and descriptions are written by users, and the reader's program must not
// run what they wrote.
func plainCell(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// encodedID returns the id of a row that AuditEntry.AppendJSON wrote. The id is its
// first property and never needs escaping.
func encodedID(row []byte) []byte {
	id := row[min(len(row), len(`{"id":"`)):]
	return id[:max(0, bytes.IndexByte(id, '"'))]
}
