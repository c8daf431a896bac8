package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"bursar/api"
)

// The store keeps an audit row as its id and a JSON array of all other values, in
// the order in which the API sends them. The names of the properties, which are the
// same in every row, would be a third of its size. A page of the log is made by
// writing the names between the values, which is faster than reading a column each.

// names stand before the values of a row that is sent; the first is the id's.
func names() [13]string {
	return [...]string{
		`{"id":"`, `","action":`, `,"actor_name":`, `,"actor_email":`, `,"description":`, `,"outcome":`, `,"timestamp":`,
		`,"actor_id":`, `,"actor_type":`, `,"resource_type":`, `,"resource_id":`, `,"request_id":`, `,"ip":`,
	}
}

// AppendStored appends a row as the store keeps it, without its id.
func AppendStored(dst []byte, e api.AuditEntry) []byte {
	dst = api.AppendString(append(dst, '['), e.Action)
	for _, text := range [...]string{e.ActorName, e.ActorEmail, e.Description, e.Outcome} {
		dst = api.AppendString(append(dst, ','), text)
	}
	dst = strconv.AppendInt(append(dst, ','), e.Timestamp, 10)
	for _, text := range [...]string{e.ActorID, e.ActorType, e.ResourceType, e.ResourceID, e.RequestID, e.IP} {
		dst = api.AppendString(append(dst, ','), text)
	}
	return append(dst, ']')
}

// AppendJSON appends a stored row as the API sends it. seq is its place in the log, 0 if
// it has none yet.
func AppendJSON(dst, id, stored []byte, seq int64) []byte {
	for i, name := range names() {
		dst = append(dst, name...)
		if i == 0 {
			dst = append(dst, id...)
			continue
		}
		if len(stored) == 0 {
			break
		}
		stored = stored[1:] // the bracket or comma before the value
		end := valueEnd(stored)
		dst, stored = append(dst, stored[:end]...), stored[end:]
	}
	if seq > 0 {
		dst = strconv.AppendInt(append(dst, `,"seq":`...), seq, 10)
	}
	return append(dst, '}')
}

// valueEnd returns where the text or number that begins a piece of JSON ends.
func valueEnd(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		end := bytes.IndexAny(text, ",]")
		return max(end, 0)
	}
	for end := 1; ; end++ {
		quote := bytes.IndexByte(text[end:], '"')
		if quote < 0 {
			return len(text)
		}
		end += quote
		escapes := 0
		for text[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// ReadStored returns the row that AppendStored wrote.
func ReadStored(id string, stored []byte) (api.AuditEntry, error) {
	var e api.AuditEntry
	if err := json.Unmarshal(AppendJSON(nil, []byte(id), stored, 0), &e); err != nil {
		return e, fmt.Errorf("read the audit row %s: %w", id, err)
	}
	return e, nil
}

// Filter is a property of audit rows that a list can be filtered by. The store has a
// column and an index for each, named after it with "_key" at the end.
type Filter string

const (
	ByActor        Filter = "actor_id"
	ByAction       Filter = "action"
	ByResourceType Filter = "resource_type"
	ByResource     Filter = "resource_id"
	ByOutcome      Filter = "outcome"
)

// FilterKey returns the number by which the store finds the rows of a workspace, or
// of no workspace, that have a value. An index of these numbers is half as large as one
// of workspace ids and values. Whoever tries long enough can find a value whose number
// is that of a value in another workspace, so a reader must compare the workspace as well.
func FilterKey(by Filter, workspaceID, value string) int64 {
	text := make([]byte, 0, 128)
	text = append(append(text, by...), '\n')
	text = append(append(text, workspaceID...), '\n')
	digest := sha256.Sum256(append(text, value...))
	return int64(binary.BigEndian.Uint64(digest[:8]))
}

// OutcomeKey returns the key of an outcome, nil for success: nearly all rows tell of a
// success, and an index without them is small.
func OutcomeKey(workspaceID string, outcome Outcome) any {
	if outcome == Success {
		return nil
	}
	return FilterKey(ByOutcome, workspaceID, string(outcome))
}
