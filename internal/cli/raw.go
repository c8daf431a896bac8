package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// rawCall is a request to the API as typed.
type rawCall struct {
	r                 *remote
	method, path      string
	fields, texts     []string
	input, expression string
	jq                *term.JQ // the compiled expression, or nil
	headers           []string
	include, paginate bool
}

func newAPI(r *remote) *cobra.Command {
	call := &rawCall{r: r}
	c := &cobra.Command{
		Use: "api METHOD PATH", Short: "Send a request to the API",
		Long: `Send a request to the API as the signed-in user and print the response. The
path may start with /v1 and have a query; what is about money starts with /v2.
{workspace} in the path or in --field is replaced by the id of the workspace.
The server documents the API at /docs.

--field adds to the body, or for GET to the query. The values true, false,
null and numbers keep their JSON type, @FILE is the content of a file (@- of
standard input), and anything else is text. --raw-field is always text.
name[key]=value makes an object, name[]=value a list.

Requests that change something have an idempotency key, so that they are safe
to repeat; set your own with --header 'Idempotency-Key: …'. Responses with a
status of 400 or more are printed, too, and the exit code is 1.`,
		Example: `  bursar api GET /auth/me
  bursar api GET '/directory?workspace_id={workspace}' --paginate --jq '.[].label'
  bursar api POST /directory -F workspace_id={workspace} -F type=person -F 'fields[name]=Ada'
  bursar api PATCH /workspaces/{workspace} --input change.json --include`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: byPosition(methodWords, pathWords),
		RunE: func(c *cobra.Command, args []string) error {
			call.method, call.path = strings.ToUpper(args[0]), args[1]
			return call.run(c.Context())
		},
	}
	c.Flags().StringArrayVarP(&call.fields, "field", "F", nil, "name=value of the body or the query; can be repeated")
	c.Flags().StringArrayVarP(&call.texts, "raw-field", "f", nil, "name=value that is always text; can be repeated")
	c.Flags().StringVar(&call.input, "input", "", "file with the body; - is standard input")
	c.Flags().StringArrayVarP(&call.headers, "header", "H", nil, "header to send, as 'Name: value'; can be repeated")
	c.Flags().StringVar(&call.expression, "jq", "", "apply a jq expression to the response and write its results")
	c.Flags().BoolVarP(&call.include, "include", "i", false, "print the status and the headers first")
	c.Flags().BoolVar(&call.paginate, "paginate", false, "read all pages of a list and print their data as one array")
	c.MarkFlagsMutuallyExclusive("input", "field")
	c.MarkFlagsMutuallyExclusive("input", "raw-field")
	c.MarkFlagsMutuallyExclusive("include", "paginate")
	r.bindWorkspace(c)
	return c
}

func (call *rawCall) run(ctx context.Context) error {
	if err := call.check(); err != nil {
		return err
	}
	s, err := call.r.connect()
	if err != nil {
		return err
	}
	if err := call.fill(ctx, s); err != nil {
		return err
	}
	if ctx, err = call.sending(ctx, s); err != nil {
		return err
	}
	body, err := call.body()
	if err != nil {
		return err
	}
	if call.paginate {
		return call.pages(ctx, s)
	}
	response, err := s.Do(ctx, call.method, call.path, body, nil)
	return call.answer(response, err)
}

var (
	methodShape = regexp.MustCompile(`^[A-Z]+$`)
	headerShape = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

func (call *rawCall) check() error {
	switch {
	case !methodShape.MatchString(call.method):
		return term.Usagef("%q is not a method: use GET, POST, PUT, PATCH or DELETE", call.method)
	case strings.Contains(call.path, "://"):
		return term.Usagef("use only the path, such as /auth/me: the context names the server")
	case call.paginate && call.method != http.MethodGet:
		return term.Usagef("--paginate only works with GET")
	case call.input != "" && call.method == http.MethodGet:
		return term.Usagef("GET has no body: use --field for the query")
	}
	if call.expression == "" {
		return nil
	}
	var err error
	call.jq, err = term.CompileJQ(call.expression)
	return err
}

const workspaceMark = "{workspace}"

// fill replaces {workspace} with the id of the workspace.
func (call *rawCall) fill(ctx context.Context, s *session) error {
	marked := func(text string) bool { return strings.Contains(text, workspaceMark) }
	if !marked(call.path) && !slices.ContainsFunc(call.fields, marked) {
		return nil
	}
	w, err := call.r.call(ctx, s).here()
	if err != nil {
		return err
	}
	call.path = strings.ReplaceAll(call.path, workspaceMark, w.ID)
	for i, field := range call.fields {
		call.fields[i] = strings.ReplaceAll(field, workspaceMark, w.ID)
	}
	return nil
}

func methodWords(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, cobra.ShellCompDirectiveNoFileComp
}

// pathWords completes the paths that have the method.
func pathWords(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var paths []string
	for _, o := range api.Operations() {
		if strings.EqualFold(o.Method(), args[0]) {
			paths = append(paths, strings.TrimPrefix(o.Path(), "/v1"))
		}
	}
	return paths, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// sending adds the headers of --header to the requests of the session.
func (call *rawCall) sending(ctx context.Context, s *session) (context.Context, error) {
	add := http.Header{}
	for _, line := range call.headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || !headerShape.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			return nil, term.Usagef("--header must be 'Name: value'")
		case strings.EqualFold(name, "Idempotency-Key"):
			ctx = client.WithIdempotencyKey(ctx, value)
		default:
			add.Add(name, value)
		}
	}
	if len(add) == 0 {
		return ctx, nil
	}
	var err error
	s.Client, err = newClient(s.url, s.held, client.WithHTTPClient(&http.Client{Transport: addHeaders{add, strings.Contains(call.path, tokenPath)}}))
	return ctx, err
}

const tokenPath = "/auth/token"

// addHeaders replaces headers of requests. Sign-in requests stay unchanged, unless the user requested one.
type addHeaders struct {
	add    http.Header
	always bool
}

func (a addHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.always || !strings.HasSuffix(request.URL.Path, tokenPath) {
		request = request.Clone(request.Context())
		maps.Copy(request.Header, a.add)
	}
	return http.DefaultTransport.RoundTrip(request)
}

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
