package servertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/contract"
)

// Body is a JSON object.
type Body = map[string]any

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	request string
	t       testing.TB
}

func encode(t testing.TB, body any) io.Reader {
	t.Helper()
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(b)
	case []byte:
		return bytes.NewReader(b)
	case io.Reader:
		return b
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("encode the body: %v", err)
	}
	return bytes.NewReader(data)
}

func asUndocumented(err error, target **contract.UndocumentedError) bool {
	return errors.As(err, target)
}

// OK fails the test unless the status is 200 or 201.
func (a *Answer) OK() *Answer {
	a.t.Helper()
	if a.Status != http.StatusOK && a.Status != http.StatusCreated {
		a.t.Fatalf("%s: want 200, got %d %s", a.request, a.Status, a.Body)
	}
	return a
}

// Created fails the test unless the status is 201.
func (a *Answer) Created() *Answer {
	a.t.Helper()
	if a.Status != http.StatusCreated {
		a.t.Fatalf("%s: want 201, got %d %s", a.request, a.Status, a.Body)
	}
	return a
}

// Fails fails the test unless the answer is an error with this status and this code.
func (a *Answer) Fails(status int, code string) *Answer {
	a.t.Helper()
	if got := a.Code(); a.Status != status || got != code {
		a.t.Fatalf("%s: want %d %s, got %d %s", a.request, status, code, a.Status, a.Body)
	}
	return a
}

// Invalid fails the test unless the answer is a VALIDATION_ERROR about exactly these fields.
func (a *Answer) Invalid(fields ...string) *Answer {
	a.t.Helper()
	a.Fails(http.StatusBadRequest, "VALIDATION_ERROR")
	var got []string
	for field := range a.Violations() {
		got = append(got, field)
	}
	if len(got) != len(fields) {
		a.t.Fatalf("%s: want violations of %v, got %s", a.request, fields, a.Body)
	}
	for _, field := range fields {
		if _, ok := a.Violations()[field]; !ok {
			a.t.Fatalf("%s: want violations of %v, got %s", a.request, fields, a.Body)
		}
	}
	return a
}

// Violations returns the fields that were wrong, each with the reason.
func (a *Answer) Violations() map[string]string {
	a.t.Helper()
	var body struct {
		Error struct {
			Details struct {
				Fields []struct{ Field, Constraint string }
			}
		}
	}
	a.decode(&body)
	found := map[string]string{}
	for _, f := range body.Error.Details.Fields {
		found[f.Field] = f.Constraint
	}
	return found
}

// Code returns the code of an error, or "" for a success.
func (a *Answer) Code() string {
	a.t.Helper()
	if a.Status == http.StatusOK || a.Status == http.StatusCreated {
		return "" // the answer may be a file
	}
	var body struct{ Error struct{ Code string } }
	a.decode(&body)
	return body.Error.Code
}

// Detail returns a text from the details of an error.
func (a *Answer) Detail(name string) string {
	a.t.Helper()
	var body struct {
		Error struct{ Details map[string]any }
	}
	a.decode(&body)
	text, _ := body.Error.Details[name].(string)
	return text
}

// Data decodes `data`.
func (a *Answer) Data(target any) {
	a.t.Helper()
	var body struct{ Data json.RawMessage }
	a.decode(&body)
	if err := json.Unmarshal(body.Data, target); err != nil {
		a.t.Fatalf("%s: decode data of %s: %v", a.request, a.Body, err)
	}
}

// Object returns `data` as an object.
func (a *Answer) Object() Body {
	a.t.Helper()
	var data Body
	a.Data(&data)
	return data
}

// List returns `data` as an array of objects.
func (a *Answer) List() []Body {
	a.t.Helper()
	var data []Body
	a.Data(&data)
	return data
}

// Text returns a text property of `data`, or "" if there is none.
func (a *Answer) Text(name string) string {
	a.t.Helper()
	text, _ := a.Object()[name].(string)
	return text
}

// Column returns one text property of every row of `data`.
func (a *Answer) Column(name string) []string {
	a.t.Helper()
	column := []string{}
	for _, row := range a.List() {
		text, _ := row[name].(string)
		column = append(column, text)
	}
	return column
}

// Page returns the cursor of the next page, and whether there is one.
func (a *Answer) Page() (cursor string, more bool) {
	a.t.Helper()
	var body struct {
		Cursor  string `json:"cursor"`
		HasMore bool   `json:"has_more"`
	}
	a.decode(&body)
	return body.Cursor, body.HasMore
}

// Decode decodes the whole answer.
func (a *Answer) Decode(target any) {
	a.t.Helper()
	a.decode(target)
}

func (a *Answer) decode(target any) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body, target); err != nil {
		a.t.Fatalf("%s: the answer is not JSON: %v\n%s", a.request, err, a.Body)
	}
}
