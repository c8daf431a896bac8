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

// rawCall is a call of the API as it was typed.
type rawCall struct {
	r                 *remote
	method, path      string
	fields, texts     []string
	input, expression string
	jq                *term.JQ // the compiled expression, nil without one
	headers           []string
	include, paginate bool
}

func newAPI(r *remote) *cobra.Command {
	call := &rawCall{r: r}
	c := &cobra.Command{
		Use: "api METHOD PATH", Short: "Call the API directly",
		Long: `Call a path of the API as whoever is signed in, and write the answer. The path may
begin with /v1 and have a query; {workspace} in it, and in --field, is the id of the
workspace. See /docs of the server for what there is.

--field makes the body, or for GET the query: true, false, null and numbers are
themselves, @FILE is what a file holds (@- standard input), everything else is text.
--raw-field is always text. name[key]=value makes an object, name[]=value a list.

What changes something carries an idempotency key, so that it is safe to repeat:
give your own with --header 'Idempotency-Key: …'. An answer of 400 or more is
written too, and the exit code is 1.`,
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
	c.Flags().StringArrayVarP(&call.texts, "raw-field", "f", nil, "name=value that is text as it is; can be repeated")
	c.Flags().StringVar(&call.input, "input", "", "file that is the body; - is standard input")
	c.Flags().StringArrayVarP(&call.headers, "header", "H", nil, "'Name: value' to send; can be repeated")
	c.Flags().StringVar(&call.expression, "jq", "", "write what a jq expression makes of the answer")
	c.Flags().BoolVarP(&call.include, "include", "i", false, "write the status and the headers first")
	c.Flags().BoolVar(&call.paginate, "paginate", false, "read all pages of a list and write one array of their data")
	c.MarkFlagsMutuallyExclusive("input", "field")
	c.MarkFlagsMutuallyExclusive("input", "raw-field")
	c.MarkFlagsMutuallyExclusive("include", "paginate")
	return r.inWorkspace(c)
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
		return term.Usagef("%q is no method: give GET, POST, PUT, PATCH or DELETE", call.method)
	case strings.Contains(call.path, "://"):
		return term.Usagef("give the path alone, such as /auth/me: the server is that of the context")
	case call.paginate && call.method != http.MethodGet:
		return term.Usagef("--paginate is for GET")
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

// fill puts the workspace where it is asked for.
func (call *rawCall) fill(ctx context.Context, s *session) error {
	marked := func(text string) bool { return strings.Contains(text, workspaceMark) }
	if !marked(call.path) && !slices.ContainsFunc(call.fields, marked) {
		return nil
	}
	w, err := call.r.currentWorkspace(ctx, s)
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

var pathLine = regexp.MustCompile(`(?m)^  (/\S+):$`)

// pathWords completes the paths of the contract.
func pathWords(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []string
	for _, found := range pathLine.FindAllSubmatch(openapi.YAML(), -1) {
		words = append(words, string(found[1]))
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
