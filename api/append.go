package api

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the user as JSON. Who am I is asked more often than anything
// else, and this takes a fifth of the time that an encoder takes.
func (u User) AppendJSON(dst []byte) []byte {
	dst = appendText(append(dst, `{"id":`...), u.ID)
	dst = appendText(append(dst, `,"email":`...), u.Email)
	dst = appendText(append(dst, `,"name":`...), u.Name)
	return append(dst, '}')
}

// AppendJSON appends what was made as JSON.
func (c Created) AppendJSON(dst []byte) []byte {
	return append(appendText(append(dst, `{"id":`...), c.ID), '}')
}

// AppendJSON appends the row as JSON. The store keeps these bytes, and lists of the
// audit log send them as they were stored.
func (e AuditEntry) AppendJSON(dst []byte) []byte {
	dst = appendText(append(dst, `{"id":`...), e.ID)
	dst = appendText(append(dst, `,"action":`...), e.Action)
	dst = appendText(append(dst, `,"actor_name":`...), e.ActorName)
	dst = appendText(append(dst, `,"actor_email":`...), e.ActorEmail)
	dst = appendText(append(dst, `,"description":`...), e.Description)
	dst = appendText(append(dst, `,"outcome":`...), e.Outcome)
	dst = strconv.AppendInt(append(dst, `,"timestamp":`...), e.Timestamp, 10)
	dst = appendText(append(dst, `,"actor_id":`...), e.ActorID)
	dst = appendText(append(dst, `,"actor_type":`...), e.ActorType)
	dst = appendText(append(dst, `,"resource_type":`...), e.ResourceType)
	dst = appendText(append(dst, `,"resource_id":`...), e.ResourceID)
	dst = appendText(append(dst, `,"request_id":`...), e.RequestID)
	dst = appendText(append(dst, `,"ip":`...), e.IP)
	return append(dst, '}')
}

func appendText(dst []byte, text string) []byte {
	out, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		out, _ = jsontext.AppendQuote(dst, "\uFFFD") // only invalid UTF-8 fails
	}
	return out
}
