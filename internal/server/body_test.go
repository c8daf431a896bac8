package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// deep is a value of so many levels, closed again or not.
func deep(levels int, open, inner, shut string) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(shut, levels)
}

// manyKeys are so many unknown keys.
func manyKeys(count int) string {
	var out strings.Builder
	out.WriteByte('{')
	for i := range count {
		out.WriteString(`"` + strconv.FormatInt(int64(i), 36) + `":1,`)
	}
	return out.String() + `"last":1}`
}

// badBodies are bodies that no operation takes, and the fields that the answer
// must name; none means that any will do.
var badBodies = []struct {
	name, body string
	wrong      []string
}{
	{"no JSON", "hello", []string{"body"}},
	{"a single brace", "{", []string{"body"}},
	{"half a name", `{"fi`, []string{"body"}},
	{"half a value", `{"fields":{"a":`, []string{"body"}},
	{"half a number", `{"fields":{"a":-`, []string{"body"}},
	{"no closing brace", `{"fields":{}`, []string{"body"}},
	{"a comma too many", `{"fields":{},}`, []string{"body"}},
	{"a comma too few", `{"fields":{} "name":"x"}`, []string{"body"}},
	{"a name without quotes", `{fields:{}}`, []string{"body"}},
	{"a name that is a number", `{1:{}}`, []string{"body"}},
	{"single quotes", `{'fields':{}}`, []string{"body"}},
	{"a comment", `{/* hi */"fields":{}}`, []string{"body"}},
	{"NaN", `{"fields":{"a":NaN}}`, []string{"body"}},
	{"a leading zero", `{"fields":{"a":01}}`, []string{"body"}},
	{"a byte order mark", "\ufeff{}", []string{"body"}},
	{"a raw line break in a text", "{\"name\":\"a\nb\"}", []string{"body"}},
	{"a raw NUL in a text", "{\"name\":\"a\x00b\"}", []string{"body"}},
	{"a raw NUL between tokens", "{\x00}", []string{"body"}},
	{"nothing but NUL", "\x00", []string{"body"}},
	{"white space that is not JSON's", "\v", []string{"body"}},
	{"a bad escape", `{"name":"\x41"}`, []string{"body"}},
	{"half an escape", `{"name":"\u00"}`, []string{"body"}},
	{"text behind it", `{} x`, []string{"body"}},
	{"a second object", `{}{}`, []string{"body"}},
	{"a comma behind it", `{},`, []string{"body"}},
	{"NUL behind it", "{}\x00", []string{"body"}},
	{"white space behind it that is not JSON's", "{}\u00a0", []string{"body"}},
	{"an array", `[]`, []string{"body"}},
	{"an array of objects", `[{"fields":{}}]`, []string{"body"}},
	{"null", `null`, []string{"body"}},
	{"a string", `"fields"`, []string{"body"}},
	{"a number", `5`, []string{"body"}},
	{"true", `true`, []string{"body"}},
	{"half an array", `[`, []string{"body"}},
	{"a duplicate key", `{"name":"a","name":"b"}`, []string{"name"}},
	{"a duplicate key in other spelling", `{"name":"a","n\u0061me":"b"}`, []string{"name"}},
	{"a duplicate key in fields", `{"fields":{"email":"a@b.example","email":"a@b.example"}}`, []string{"fields.email"}},
	{"a duplicate key further down", `{"fields":{"a":{"b":[0,{"c":1,"c":2}]}}}`, []string{"fields.a.b.1.c"}},
	{"a duplicate unknown key", `{"x":1,"x":2}`, []string{"x"}},
	{"invalid UTF-8 in a text", "{\"name\":\"a\xffb\"}", []string{"body"}},
	{"invalid UTF-8 in fields", "{\"fields\":{\"a\":\"\xc3\x28\"}}", []string{"body"}},
	{"invalid UTF-8 in a key", "{\"\xed\xa0\x80\":1}", []string{"body"}},
	{"a lone surrogate", `{"name":"\ud800"}`, []string{"body"}},
	{"a lone surrogate in fields", `{"fields":{"a":"\udc00"}}`, []string{"body"}},
	{"surrogates in the wrong order", `{"fields":{"a":"\ude00\ud83d"}}`, []string{"body"}},
	{"a lone surrogate in a key", `{"fields":{"\ud83d":1}}`, []string{"body"}},
	{"100,000 arrays", deep(100_000, "[", "", "]"), []string{"body"}},
	{"100,000 arrays left open", deep(100_000, "[", "", ""), []string{"body"}},
	{"100,000 objects", deep(100_000, `{"a":`, "1", "}"), []string{"body"}},
	{"100,000 arrays in fields", `{"fields":{"a":` + deep(100_000, "[", "", "]") + `}}`, []string{"body"}},
	{"100,000 objects in fields", `{"fields":` + deep(100_000, `{"a":`, "{}", "}") + `}`, []string{"body"}},
	{"a huge key", `{"` + strings.Repeat("k", 1_000_000) + `":1}`, nil},
	{"a huge key twice", `{"` + strings.Repeat("é", 200_000) + `":1,"` + strings.Repeat("é", 200_000) + `":1}`, nil},
	{"100,000 unknown keys", manyKeys(100_000), nil},
	{"a million digits", `{"status":` + strings.Repeat("9", 1_000_000) + `}`, nil},
}

// mostOfAnAnswer bounds the answer to whatever is sent.
const mostOfAnAnswer = 8 << 10

// refused demands a clear refusal that stays small.
func refused(t *testing.T, answer *servertest.Answer, fields []string) {
	t.Helper()
	answer.Fails(http.StatusBadRequest, "VALIDATION_ERROR")
	for _, field := range fields {
		if _, ok := answer.Violations()[field]; !ok {
			t.Errorf("the answer does not name %s: %s", field, answer.Body)
		}
	}
	if len(answer.Violations()) == 0 || len(answer.Body) > mostOfAnAnswer {
		t.Errorf("the answer has %d bytes: %.300s", len(answer.Body), answer.Body)
	}
}

func TestBodyThatIsNotOneIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(servertest.Body{"name": "Ada", "tags": []string{"vip"}, "fields": servertest.Body{"a": 1}})
		method := admin.AddMethod(entry, servertest.Account("1"))
		operations := []struct{ method, path string }{
			{http.MethodPatch, "/v1/directory/" + entry},
			{http.MethodPost, "/v1/directory"},
			{http.MethodPatch, "/v1/directory/" + entry + "/receiving-methods/" + method},
		}
		n.Unchanged(t, func() {
			for i, c := range badBodies {
				// Every body goes to the operation that would take anything
				// else, and to one of the others.
				for _, o := range []struct{ method, path string }{operations[0], operations[1+i%2]} {
					t.Run(c.name+"/"+o.method, func(t *testing.T) { refused(t, admin.On(t).Do(o.method, o.path, c.body), c.wrong) })
				}
			}
		})
		// What is refused for its form alone is good in another form.
		admin.Patch("/v1/directory/"+entry, " \t\r\n{ \"name\" : \"\\ud83d\\ude00\" }\n").OK()
	})
}

func TestBodyMayHaveOneMebibyte(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	fill := func(bytes int) []byte { // a body that is fine but for its size
		return []byte(`{"status":"inactive"` + strings.Repeat(" ", bytes-len(`{"status":"inactive"}`)) + `}`)
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		sends := map[string]func(c *servertest.Client, path string, body []byte) *servertest.Answer{
			"with its length": func(c *servertest.Client, path string, body []byte) *servertest.Answer { return c.Patch(path, body) },
			"without its length": func(c *servertest.Client, path string, body []byte) *servertest.Answer {
				return c.Stream(http.MethodPatch, path, bytes.NewReader(body))
			},
		}
		for name, send := range sends {
			t.Run(name, func(t *testing.T) {
				path := "/v1/directory/" + admin.On(t).Entry(nil)
				n.Unchanged(t, func() {
					for _, size := range []int{most + 1, 3 * most} {
						send(admin.On(t), path, fill(size)).Fails(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
					}
				})
				send(admin.On(t), path, fill(most)).OK()
				if got := admin.On(t).Get(path).OK().Text("status"); got != "inactive" {
					t.Errorf("a body of just 1 MiB had no effect: status is %s", got)
				}
			})
		}
	})
}

func TestUnreadableIDsAreNotFoundAndUnreadableQueriesRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		entry := admin.Entry(nil)
		method := admin.AddMethod(entry, servertest.Account("1"))
		bad := []string{"%ff", "%00", entry + "%00", "%ed%a0%80", "%c3", "..%2f" + entry, "%2e%2e", "%0a", "%F0%9F%98%80", strings.Repeat("x", 5000), "%27%20OR%201=1"}
		n.Unchanged(t, func() {
			for _, id := range bad {
				t.Run(fmt.Sprintf("%.20s", id), func(t *testing.T) {
					admin := admin.On(t)
					for _, verb := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
						admin.Do(verb, "/v1/directory/"+id, nil).Fails(http.StatusNotFound, "NOT_FOUND")
					}
					for _, path := range []string{"/v1/directory/tags/" + id, "/v1/directory/" + entry + "/receiving-methods/" + id, "/v1/directory/" + id + "/receiving-methods/" + method} {
						admin.Delete(path).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
						admin.Patch(path, nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
					}
					admin.Post("/v1/directory/"+id+"/restore", nil).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
				})
			}
			admin.Delete("/v1/directory/").Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
			admin.Get("/v1/directory//").Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
		})
		base := "/v1/directory?workspace_id=" + n.First.WorkspaceID
		for _, param := range []string{"type", "status", "tag", "q", "limit", "cursor"} {
			for _, value := range []string{"%ff", "%00", "a%00b", "%ed%a0%80", "%c3%28"} {
				t.Run(param+"="+value, func(t *testing.T) { admin.On(t).Get(base + "&" + param + "=" + value).Invalid(param) })
			}
		}
		for _, value := range []string{"%ff", "%00", n.First.WorkspaceID + "%00"} {
			for _, list := range []string{"/v1/directory", "/v1/directory/tags", "/v1/audit"} {
				t.Run(list+value, func(t *testing.T) { admin.On(t).Get(list + "?workspace_id=" + value).Invalid("workspace_id") })
			}
		}
	})
}
