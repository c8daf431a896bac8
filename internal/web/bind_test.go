package web

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/fault"
)

// sample has a field of every kind that a body can fill.
type sample struct {
	Text  string     `json:"text" required:"true"`
	Maybe *string    `json:"maybe"`
	Yes   bool       `json:"yes"`
	Count *int64     `json:"count"`
	Words []string   `json:"words"`
	Free  api.Fields `json:"free,omitzero"`
}

// encode writes a sample as a body again.
func (s sample) encode(t testing.TB) []byte {
	t.Helper()
	body := map[string]any{"text": s.Text, "yes": s.Yes}
	if s.Maybe != nil {
		body["maybe"] = *s.Maybe
	}
	if s.Count != nil {
		body["count"] = *s.Count
	}
	if s.Words != nil {
		body["words"] = s.Words
	}
	if s.Free != nil {
		body["free"] = s.Free
	}
	// Not Marshal: it would escape < and > inside free.
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		t.Fatalf("encode %+v: %v", s, err)
	}
	return []byte(out.String())
}

func bindSample(body []byte) (sample, error) {
	return newBinder[sample](nil).request(&Exchange{R: httptest.NewRequest("POST", "/", nil)}, body)
}

// wrongFields are the fields that a VALIDATION_ERROR names.
func wrongFields(t testing.TB, err error) map[string]string {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != api.CodeValidation {
		t.Fatalf("not a VALIDATION_ERROR: %#v", err)
	}
	details, ok := f.Details.(fault.ViolationDetails)
	if !ok || len(details.Fields) == 0 || f.Message == "" {
		t.Fatalf("a VALIDATION_ERROR without details: %#v", f)
	}
	wrong := map[string]string{}
	for _, v := range details.Fields {
		wrong[v.Field] = v.Constraint
	}
	return wrong
}

func FuzzBinder(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, `{"text":"","maybe":"b","yes":true,"count":-5,"words":["a","b"],"free":{"z":1.00,"a":{"b":null}}}`,
		`{"text":"é\u0000\ud83d\ude00","words":[],"free":{}}`, ` {"text" : "a" , "free" : { "a" : [ 1 ] } } `,
		``, ` `, "\v", `{}`, `null`, `[]`, `"a"`, `5`, `{"text":1}`, `{"text":null}`, `{"words":[1]}`, `{"words":[null]}`, `{"count":1.5}`, `{"count":1e2}`,
		`{"count":9223372036854775807}`, `{"count":9223372036854775808}`, `{"text":"a","text":"b"}`, `{"free":{"a":1,"a":2}}`, `{"text":"a"}x`, "{\"text\":\"a\"}\u00a0",
		`{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"other":1,"text":"a"}`, `{"text":"a"`, `{"text"`, `{1:2}`, `{"":1}`, `{"text":"<&>\u2028","free":{"<":"<\u003c"}}`,
		strings.Repeat("[", 20000), `{"free":` + strings.Repeat(`{"a":`, 20000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := bindSample(body)
		if err != nil {
			wrongFields(t, err)
			return
		}
		var plain map[string]any
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("a body that is not JSON was taken: %q: %v", body, err)
		}
		if plain["text"] != in.Text {
			t.Fatalf("%q gave the text %q", body, in.Text)
		}
		again, err := bindSample(in.encode(t))
		if err != nil {
			t.Fatalf("%q was taken, %q was not: %v", body, in.encode(t), err)
		}
		if !reflect.DeepEqual(in, again) {
			t.Fatalf("%q gave %+v, and that %+v", body, in, again)
		}
	})
}

func TestBinderReportsEverythingThatIsWrong(t *testing.T) {
	cases := []struct {
		name, body string
		want       []string
	}{
		{"a missing field", `{}`, []string{"text"}},
		{"every type", `{"text":1,"maybe":[],"yes":"yes","count":"1","words":"a","free":[]}`, []string{"text", "maybe", "yes", "count", "words", "free"}},
		{"nulls", `{"text":null,"maybe":null,"yes":null,"count":null,"words":null,"free":null}`, []string{"text", "maybe", "yes", "count", "words", "free"}},
		{"unknown keys and missing ones", `{"a":1,"TEXT":"x"}`, []string{"a", "TEXT", "text"}},
		{"numbers that are no integers", `{"text":"a","count":1.5}`, []string{"count"}},
		{"a number that is too large", `{"text":"a","count":9223372036854775808}`, []string{"count"}},
		{"elements of a wrong type", `{"text":"a","words":["a",{}]}`, []string{"words"}},
		{"a duplicate stops the reading", `{"text":1,"maybe":"a","maybe":"b"}`, []string{"maybe"}},
		{"so does what is not JSON", `{"text":1,`, []string{"body"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := bindSample([]byte(c.body))
			wrong := wrongFields(t, err)
			if len(wrong) != len(c.want) {
				t.Errorf("wrong are %v, want %v", wrong, c.want)
			}
			for _, field := range c.want {
				if wrong[field] == "" {
					t.Errorf("wrong are %v, want %v", wrong, c.want)
				}
			}
		})
	}
}

func TestBinderNamesFewFieldsHoweverManyAreWrong(t *testing.T) {
	var body strings.Builder
	for i := range 1000 {
		body.WriteString(`,"` + strings.Repeat("k", 200) + strings.Repeat("x", i) + `":1`)
	}
	_, err := bindSample([]byte("{" + body.String()[1:] + "}"))
	wrongFields(t, err)
	if answer := appendFault(nil, err.(*fault.Fault)); len(answer) > 8<<10 {
		t.Errorf("the answer has %d bytes", len(answer))
	}
}

func TestFieldsAreKeptWithoutWhiteSpace(t *testing.T) {
	in, err := bindSample([]byte("{\"text\":\"a\",\"free\": {\"z\" : 1.00,\n\"a\\u0062\":\"\\/ \\u00e9\", \"n\":1E400} }"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"z":1.00,"a\u0062":"\/ \u00e9","n":1E400}`; in.Free.String() != want {
		t.Errorf("got %s, want %s", in.Free, want)
	}
}

// located has a field of every source.
type located struct {
	ID     string  `path:"id"`
	Must   string  `query:"must" required:"true"`
	May    *string `query:"may"`
	Header *string `header:"X-Proof"`
	PageParams
}

func TestParametersAreBound(t *testing.T) {
	bind := func(id, query string, headers ...string) (located, error) {
		r := httptest.NewRequest("GET", "/?"+query, nil)
		r.SetPathValue("id", id)
		for _, h := range headers {
			r.Header.Add("X-Proof", h)
		}
		return newBinder[located](nil).request(&Exchange{R: r}, nil)
	}
	in, err := bind("a b", "must=%C3%A9&may=&limit=7", "proof")
	if err != nil {
		t.Fatal(err)
	}
	if in.ID != "a b" || in.Must != "é" || in.May == nil || *in.May != "" || *in.Header != "proof" || in.size != 7 || in.Cursor != nil {
		t.Errorf("bound %+v", in)
	}
	for name, c := range map[string]struct {
		query, want string
	}{
		"absent": {"", "must"}, "empty": {"must=", "must"}, "twice": {"must=a&must=a", "must"},
		"not UTF-8": {"must=%ff", "must"}, "NUL": {"must=a&may=%00", "may"}, "a bad limit": {"must=a&limit=0", "limit"},
		"a query that cannot be decoded": {"must=a&may=%zz", "query"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bind("x", c.query)
			if wrong := wrongFields(t, err); len(wrong) != 1 || wrong[c.want] == "" {
				t.Errorf("wrong are %v, want %s", wrong, c.want)
			}
		})
	}
	if in, err := bind("x", "must=a", "a", "b\xff"); err != nil || *in.Header != "a, b\ufffd" {
		t.Errorf("a header that came twice became %v, %v", in.Header, err)
	}
	if in, err := bind("a\x00\xffb", "must=a"); err != nil || in.ID != "a\ufffd\ufffdb" {
		t.Errorf("an id that no row can have became %q, %v", in.ID, err)
	}
}
