package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bursar/client"
	"bursar/internal/cli/term"
)

// pages reads all pages of a list.
func (call *rawCall) pages(ctx context.Context, s *session) error {
	path, text, _ := strings.Cut(call.path, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		return term.Usagef("read the query of the path: %w", err)
	}
	if !query.Has("limit") {
		query.Set("limit", "100")
	}
	all := []json.RawMessage{}
	for {
		response, err := s.Do(ctx, call.method, path+"?"+query.Encode(), nil, nil)
		if err != nil {
			return call.answer(response, err)
		}
		var page struct {
			Data    []json.RawMessage `json:"data"`
			Cursor  string            `json:"cursor"`
			HasMore bool              `json:"has_more"`
		}
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return fmt.Errorf("the response of %s %s is not a list: omit --paginate", call.method, path)
		}
		all = append(all, page.Data...)
		if !page.HasMore || page.Cursor == "" {
			break
		}
		query.Set("cursor", page.Cursor)
	}
	if call.jq != nil {
		return call.jq.Write(call.r.terminal, all)
	}
	return term.WriteJSON(call.r.terminal, all)
}

// answer writes the response, including errors.
func (call *rawCall) answer(response *client.Response, err error) error {
	doing := call.method + " " + strings.SplitN(call.path, "?", 2)[0]
	if response == nil {
		if err != nil {
			err = fmt.Errorf("%s: %w", doing, err)
		}
		return err
	}
	refused := response.Status >= http.StatusMultipleChoices
	out := call.r.terminal.Out
	if call.include {
		fmt.Fprintf(out, "HTTP %d %s\n", response.Status, http.StatusText(response.Status))
		for _, name := range slices.Sorted(maps.Keys(response.Header)) {
			fmt.Fprintf(out, "%s: %s\n", name, term.Printable(strings.Join(response.Header[name], ", ")))
		}
		fmt.Fprintln(out)
	}
	var failed error
	if call.jq != nil && !refused {
		failed = call.jq.Write(call.r.terminal, json.RawMessage(response.Body))
	} else {
		failed = term.WriteBody(call.r.terminal, response.Body)
	}
	if refused && err != nil {
		failed = errors.Join(failed, fmt.Errorf("%s: %w", doing, err))
	}
	return failed
}
