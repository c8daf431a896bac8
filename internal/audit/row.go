package audit

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Row is a row of the log, with the names that the API gives its fields.
type Row struct {
	ID           string `json:"id"`
	Action       string `json:"action"`
	ActorName    string `json:"actor_name"`
	ActorEmail   string `json:"actor_email"`
	Description  string `json:"description"`
	Outcome      string `json:"outcome"`
	Timestamp    int64  `json:"timestamp"`
	ActorID      string `json:"actor_id"`
	ActorType    string `json:"actor_type"`
	ResourceType string `json:"resource_type"`
	ResourceID   string `json:"resource_id"`
	RequestID    string `json:"request_id"`
	IP           string `json:"ip"`
}

// Append writes the row as it is sent.
func (r Row) Append(dst []byte) []byte {
	dst = appendText(dst, `{"id":`, r.ID)
	dst = appendText(dst, `,"action":`, r.Action)
	dst = appendText(dst, `,"actor_name":`, r.ActorName)
	dst = appendText(dst, `,"actor_email":`, r.ActorEmail)
	dst = appendText(dst, `,"description":`, r.Description)
	dst = appendText(dst, `,"outcome":`, r.Outcome)
	dst = strconv.AppendInt(append(dst, `,"timestamp":`...), r.Timestamp, 10)
	dst = appendText(dst, `,"actor_id":`, r.ActorID)
	dst = appendText(dst, `,"actor_type":`, r.ActorType)
	dst = appendText(dst, `,"resource_type":`, r.ResourceType)
	dst = appendText(dst, `,"resource_id":`, r.ResourceID)
	dst = appendText(dst, `,"request_id":`, r.RequestID)
	dst = appendText(dst, `,"ip":`, r.IP)
	return append(dst, '}')
}

// SentID finds the id in what Append wrote: it is the first of all, and plain.
func SentID(row []byte) []byte {
	id := row[min(len(row), len(`{"id":"`)):]
	return id[:max(0, bytes.IndexByte(id, '"'))]
}

func appendText(dst []byte, name, text string) []byte {
	dst = append(dst, name...)
	quoted, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(dst, "\uFFFD") // only invalid UTF-8 fails, and none is ever stored
	}
	return quoted
}
