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

// The store keeps an audit row as its id and two JSON arrays of its values. The first, the
// entry, is kept permanently. The second has the personal values, and can be erased. The
// names of the properties are not stored: they are the same in every row, and would be a
// third of its size. A page of the log is encoded by writing the names between the values,
// which is faster than reading a column for each.

// property is a value of a row in the API, in its order.
type property struct {
	name     string
	personal bool // the value is in the second array
}

func properties() [12]property {
	return [...]property{
		{`","action":`, false}, {`,"actor_name":`, true}, {`,"actor_email":`, true}, {`,"description":`, true}, {`,"outcome":`, false}, {`,"timestamp":`, false},
		{`,"actor_id":`, false}, {`,"actor_type":`, false}, {`,"resource_type":`, false}, {`,"resource_id":`, false}, {`,"request_id":`, false}, {`,"ip":`, true},
	}
}

// AppendEntry appends the permanent values of a row in the stored format.
func AppendEntry(dst []byte, e api.AuditEntry) []byte {
	dst = api.AppendString(append(dst, '['), e.Action)
	dst = api.AppendString(append(dst, ','), e.Outcome)
	dst = strconv.AppendInt(append(dst, ','), e.Timestamp, 10)
	for _, text := range [...]string{e.ActorID, e.ActorType, e.ResourceType, e.ResourceID, e.RequestID} {
		dst = api.AppendString(append(dst, ','), text)
	}
	return append(dst, ']')
}

// AppendPersonal appends the personal values of a row in the stored format.
func AppendPersonal(dst []byte, e api.AuditEntry) []byte {
	dst = api.AppendString(append(dst, '['), e.ActorName)
	for _, text := range [...]string{e.ActorEmail, e.Description, e.IP} {
		dst = api.AppendString(append(dst, ','), text)
	}
	if len(e.Changes) > 0 {
		dst = append(dst, `,[`...)
		for i, change := range e.Changes {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = api.AppendString(append(dst, `{"field":`...), change.Field)
			dst = append(append(dst, `,"before":`...), change.Before...)
			dst = append(append(dst, `,"after":`...), change.After...)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// AppendJSON appends a stored row in the format of the API. personal is empty if it was
// erased. seq is the row's place in the log, or 0 if it has none yet.
func AppendJSON(dst, id, entry, personal []byte, seq int64) []byte {
	erased := len(personal) == 0
	dst = append(append(dst, `{"id":"`...), id...)
	for _, p := range properties() {
		from := &entry
		if p.personal {
			from = &personal
		}
		dst = append(dst, p.name...)
		if p.personal && erased {
			dst = append(dst, `""`...)
			continue
		}
		if len(*from) == 0 {
			break
		}
		rest := (*from)[1:] // without the bracket or comma before the value
		end := valueEnd(rest)
		dst, *from = append(dst, rest[:end]...), rest[end:]
	}
	if len(personal) > 2 { // more than the bracket: the changes
		dst = append(append(dst, `,"changes":`...), personal[1:len(personal)-1]...)
	}
	if seq > 0 {
		dst = strconv.AppendInt(append(dst, `,"seq":`...), seq, 10)
	}
	if erased {
		dst = append(dst, `,"erased":true`...)
	}
	return append(dst, '}')
}

// valueEnd returns the end of the text or number at the start of text.
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

// TellsOfErasure reports whether a stored row records the erasure of others. Such a row
// has nothing personal, and is never erased itself.
func TellsOfErasure(entry []byte) bool {
	return bytes.HasPrefix(entry, []byte(`["`+string(AuditErased)+`",`))
}

// ReadStored decodes a stored row.
func ReadStored(id string, entry, personal []byte, seq int64) (api.AuditEntry, error) {
	var e api.AuditEntry
	if err := json.Unmarshal(AppendJSON(nil, []byte(id), entry, personal, seq), &e); err != nil {
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

// FilterKey returns the number by which the store finds the rows of a workspace, or of no
// workspace, that have a value. An index of these numbers is half as large as one of
// workspace ids and values. An attacker can find a value whose number equals that of a
// value in another workspace, so a reader must compare the workspace as well.
func FilterKey(by Filter, workspaceID, value string) int64 {
	text := make([]byte, 0, 128)
	text = append(append(text, by...), '\n')
	text = append(append(text, workspaceID...), '\n')
	digest := sha256.Sum256(append(text, value...))
	return int64(binary.BigEndian.Uint64(digest[:8]))
}

// OutcomeKey returns the key of an outcome, or nil for success. Nearly all rows are
// successes, and an index without them is small.
func OutcomeKey(workspaceID string, outcome Outcome) any {
	if outcome == Success {
		return nil
	}
	return FilterKey(ByOutcome, workspaceID, string(outcome))
}
