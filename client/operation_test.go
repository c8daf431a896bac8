package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/api/openapi"
	"bursar/client"
)

var update = flag.Bool("update", false, "rewrite testdata/requests.txt")

// Each line of testdata/requests.txt is a method of the client and the request that it sends. The arguments of the call and their fields
// have their own names as values. A body that is an argument as JSON is shown as the name of the argument.
func TestMethodsSendTheirRequests(t *testing.T) {
	t.Parallel()
	way := &recorder{}
	c := dial(t, "https://bursar.example", client.WithAPIKey("key"), client.WithHTTPClient(&http.Client{Transport: way}))
	parameters, queries := parametersOfMethods(t), queriesOfContract(t)
	called := map[string]bool{api.ListInstitutionsAlias.Name(): true}
	var lines []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(*c)) {
		if !field.IsExported() {
			continue
		}
		service := reflect.ValueOf(c).Elem().FieldByIndex(field.Index)
		for i := range service.NumMethod() {
			name := service.Type().Method(i).Name
			names := parameters[service.Elem().Type().Name()+"."+name]
			sent := way.during(t, func() []reflect.Value { return callWith(t, service.Method(i), names) }, names)
			lines = append(lines, field.Name+"."+name+"("+strings.Join(names, ", ")+"): "+sent)
			o := operationOf(t, way.last)
			called[o.Name()] = true
			for key := range way.last.URL.Query() {
				if !slices.Contains(queries[o.Name()], key) {
					t.Errorf("%s.%s sends %s, which %s does not have", field.Name, name, key, o.Name())
				}
			}
		}
	}
	for _, o := range api.Operations() {
		if !called[o.Name()] {
			t.Errorf("no method of the client calls %s", o)
		}
	}
	golden(t, "testdata/requests.txt", lines)
}

func TestParametersThatAreNotSetAreNotSent(t *testing.T) {
	t.Parallel()
	way := &recorder{}
	c := dial(t, "https://bursar.example", client.WithAPIKey("key"), client.WithHTTPClient(&http.Client{Transport: way}))
	for want, call := range map[string]func(ctx context.Context) error{
		`PATCH /v1/directory/id {}`: func(ctx context.Context) error {
			_, err := c.Directory.Update(ctx, "id", client.EntryUpdateParams{})
			return err
		},
		`PATCH /v1/directory/id {"fields":{},"tags":[]}`: func(ctx context.Context) error {
			_, err := c.Directory.Update(ctx, "id", client.EntryUpdateParams{Fields: client.Fields{}, Tags: []string{}})
			return err
		},
		`POST /v1/api-keys {"name":"CI"}`: func(ctx context.Context) error {
			_, err := c.Keys.Create(ctx, client.KeyCreateParams{Name: "CI"})
			return err
		},
		`POST /v1/api-keys/id/rotate {}`: func(ctx context.Context) error {
			_, err := c.Keys.Rotate(ctx, "id", client.KeyRotateParams{})
			return err
		},
		`POST /v1/auth/device-code {}`: func(ctx context.Context) error {
			_, err := c.Auth.DeviceCode(ctx, "", "")
			return err
		},
		`PUT /v1/workspaces/id/roles/clerk {"name":"Clerk","permissions":[]}`: func(ctx context.Context) error {
			_, err := c.Roles.Define(ctx, "id", "clerk", client.RoleParams{Name: "Clerk"})
			return err
		},
		`GET /v1/api-keys`: func(ctx context.Context) error {
			_, err := c.Keys.List(ctx, client.ListParams{})
			return err
		},
		`GET /v1/api-keys?limit=100`: func(ctx context.Context) error {
			for _, err := range c.Keys.All(ctx, client.ListParams{}) {
				return err
			}
			return nil
		},
		`GET /v1/audit/id/proof`: func(ctx context.Context) error {
			_, err := c.Audit.Proof(ctx, client.AuditListParams{}, "id", 0)
			return err
		},
	} {
		sent := way.during(t, func() []reflect.Value {
			if err := call(t.Context()); err != nil {
				t.Error(err)
			}
			return nil
		}, nil)
		if sent != want {
			t.Errorf("sent %s, want %s", sent, want)
		}
	}
}

func golden(t *testing.T, file string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-) and the requests (+) differ. If they are right, rewrite it with -update:\n%s", file, diff)
	}
}

// recorder answers each request and keeps the last one.
type recorder struct {
	last *http.Request
	body string
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.last, r.body = request, ""
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		r.body = string(body)
	}
	answer := `{"ok":true,"data":null}`
	if request.URL.Path == api.CreateToken.Path() {
		answer = `{"ok":true,"data":{"token":"token","expires_at":9999999999999}}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// during returns the request of a call, which returns its arguments.
func (r *recorder) during(t *testing.T, call func() []reflect.Value, names []string) string {
	t.Helper()
	r.last = &http.Request{}
	arguments := call()
	sent := r.last.Method + " " + r.last.URL.RequestURI()
	if verifier := r.last.Header.Get("X-Code-Verifier"); verifier != "" {
		sent += " X-Code-Verifier: " + verifier
	}
	for i, argument := range arguments {
		if text, err := api.EncodeJSON(argument.Interface()); err == nil && string(text) == r.body {
			return sent + " " + names[i]
		}
	}
	return strings.TrimSpace(sent + " " + r.body)
}

// callWith calls a method with values for its named parameters, which follow a context, and returns them.
func callWith(t *testing.T, method reflect.Value, names []string) []reflect.Value {
	t.Helper()
	in := []reflect.Value{reflect.ValueOf(t.Context())}
	for i, name := range names {
		in = append(in, named(method.Type().In(i+1), name))
	}
	for _, result := range method.Call(in) {
		if err, ok := result.Interface().(error); ok {
			t.Fatal(err)
		}
		if result.Kind() == reflect.Func {
			for range result.Seq2() {
				t.Fatal("an empty page has an item")
			}
		}
	}
	return in[1:]
}

// named returns a value of a type in which each text is the name of the parameter or field that it belongs to.
func named(of reflect.Type, name string) reflect.Value {
	value := reflect.New(of).Elem()
	switch value.Interface().(type) {
	case time.Time:
		return reflect.ValueOf(time.UnixMilli(7))
	case time.Duration:
		return reflect.ValueOf(7 * time.Second)
	case client.Fields:
		return reflect.ValueOf(client.Fields{client.TextField("<key>", "1.50")})
	}
	switch of.Kind() {
	case reflect.String:
		value.SetString(name)
	case reflect.Int, reflect.Int64:
		value.SetInt(7)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Pointer:
		value.Set(reflect.New(of.Elem()))
		value.Elem().Set(named(of.Elem(), name))
	case reflect.Slice:
		value.Set(reflect.Append(value, named(of.Elem(), name)))
	case reflect.Map:
		value.Set(reflect.MakeMap(of))
		value.SetMapIndex(named(of.Key(), name), named(of.Elem(), name))
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			if len(field.Index) == 1 {
				value.FieldByIndex(field.Index).Set(named(field.Type, field.Name))
			}
		}
	case reflect.Interface:
		value.Set(reflect.ValueOf(struct {
			io.Writer
			io.ReadSeeker
		}{&bytes.Buffer{}, strings.NewReader(name)}))
	}
	return value
}

// parametersOfMethods returns the names of the parameters of each method after its context, such as of TagService.Delete.
func parametersOfMethods(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || function.Recv == nil {
				continue
			}
			receiver, ok := function.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			var names []string
			for _, parameter := range function.Type.Params.List {
				for _, name := range parameter.Names {
					names = append(names, name.Name)
				}
			}
			if len(names) > 0 && names[0] == "ctx" {
				all[receiver.X.(*ast.Ident).Name+"."+function.Name.Name] = names[1:]
			}
		}
	}
	return all
}

// queriesOfContract returns the query parameters of each operation.
func queriesOfContract(t *testing.T) map[string][]string {
	t.Helper()
	type parameter struct {
		Ref      string `json:"$ref"`
		Name, In string
	}
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Parameters map[string]parameter }
	}
	text, err := openapi.JSON()
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, item := range document.Paths {
		for _, described := range item {
			var operation struct {
				OperationID string
				Parameters  []parameter
			}
			if json.Unmarshal(described, &operation) != nil {
				continue // parameters or servers
			}
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = document.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				if p.In == "query" {
					all[operation.OperationID] = append(all[operation.OperationID], p.Name)
				}
			}
		}
	}
	return all
}

// operationOf returns the operation of a request.
func operationOf(t *testing.T, r *http.Request) api.Operation {
	t.Helper()
	var found api.Operation
	for _, o := range api.Operations() {
		// A literal wins over a parameter.
		if matches(o.String(), r.Method+" "+r.URL.Path) && (found == nil || strings.Count(o.Path(), "{") < strings.Count(found.Path(), "{")) {
			found = o
		}
	}
	if found == nil {
		t.Fatalf("%s %s is no operation", r.Method, r.URL.Path)
	}
	return found
}
