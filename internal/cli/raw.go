package cli

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api/openapi"
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

// pathWords completes the paths of the API.
func pathWords(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return openapi.Paths(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
