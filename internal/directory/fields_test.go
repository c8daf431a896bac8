package directory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// fieldsOf reads the fields of an entry as they are on the wire.
func fieldsOf(c *servertest.Client, id string) string {
	var entry struct{ Fields json.RawMessage }
	c.Get("/v1/directory/" + id).OK().Data(&entry)
	return string(entry.Fields)
}

func TestFieldsAreReadAsTheyWereSent(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"order of keys":    `{"z":1,"a":2,"m":{"y":1,"b":2},"email":"ada@example.com"}`,
		"digits":           `{"price":1.00,"big":123456789012345678901234567890,"huge":1e400,"tiny":-1E-400,"zero":-0.0,"plus":1E+5}`,
		"escapes":          `{"latin":"\u00e9\u0041\u00E9","solidus":"\/\"\\","line":"\n\t\b\f\r","pair":"\ud83d\ude00","separator":"\u2028"}`,
		"letters":          `{"latin":"é","emoji":"😀","separator":"` + "\u2028" + `","html":"<b>&'","combining":"e` + "\u0301" + `"}`,
		"escapes in a key": `{"\u0061":1,"\u00e9":{"\u0062":2}}`,
		"NUL and controls": `{"nul":"a\u0000b","bell":"\u0007","key\u0000":"","delete":"` + "\u007f" + `"}`,
		"every kind":       `{"o":{"b":[1,{"c":null}],"a":{}},"l":[],"t":true,"f":false,"n":null,"s":""}`,
		"an empty key":     `{"":""}`,
		"no keys":          `{}`,
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for name, fields := range cases {
			t.Run(name, func(t *testing.T) {
				admin := admin.On(t)
				body := fmt.Sprintf(`{"workspace_id":%q,"type":"person","fields":%s}`, n.First.WorkspaceID, fields)
				created := admin.Post("/v1/directory", body).OK().Text("id")
				updated := admin.Entry(nil)
				admin.Patch("/v1/directory/"+updated, `{"fields":`+fields+`}`).OK()
				if got := fieldsOf(admin, created); got != fields {
					t.Errorf("after create\n got %s\nwant %s", got, fields)
				}
				// In an update a null only removes a key.
				if want := strings.Replace(fields, `"n":null,`, "", 1); fieldsOf(admin, updated) != want {
					t.Errorf("after update\n got %s\nwant %s", fieldsOf(admin, updated), want)
				}
				if list := string(admin.Entries("limit", "2").OK().Body); !strings.Contains(list, `"fields":`+fields+`}`) {
					t.Errorf("the list has other fields than %s: %s", fields, list)
				}
			})
		}
		t.Run("without white space between tokens", func(t *testing.T) {
			admin := admin.On(t)
			id := admin.Post("/v1/directory", fmt.Sprintf(" {\n\"fields\" : { \"a\" :\t[ 1 , { } ] , \"b c\" : \" d \" } ,\"workspace_id\":%q,\"type\":\"person\"}\r\n", n.First.WorkspaceID)).OK().Text("id")
			if got, want := fieldsOf(admin, id), `{"a":[1,{}],"b c":" d "}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	})
}

// keyed makes an object with so many keys.
func keyed(prefix string, n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`"%s%d":%d`, prefix, i, i))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// nested makes an object with so many levels, itself included.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// sized makes an object of so many bytes in three keys.
func sized(bytes int) string {
	head := `{"a":1,"b":[2],"c":"`
	return head + strings.Repeat("x", bytes-len(head)-2) + `"}`
}

func TestFieldsHaveLimits(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, fields string
		fits         bool
	}{
		{"64 keys", keyed("k", 64), true},
		{"65 keys", keyed("k", 65), false},
		{"8 levels", nested(8), true},
		{"9 levels", nested(9), false},
		{"8 levels with arrays", `{"a":[[[[[[[]]]]]]]}`, true},
		{"9 levels with arrays", `{"b":1,"a":[[[[[[[[]]]]]]]]}`, false},
		{"brackets in a text are no levels", `{"a":"[[[[[[[[[[\"[[[{{{{{{{{{"}`, true},
		{"16 KiB", sized(16 << 10), true},
		{"16 KiB and a byte", sized(16<<10 + 1), false},
		{"16 KiB of escapes", `{"a":"` + strings.Repeat(`\u0041`, 2730) + `"}`, false},
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				admin := admin.On(t)
				body := fmt.Sprintf(`{"workspace_id":%q,"type":"person","fields":%s}`, n.First.WorkspaceID, c.fields)
				if !c.fits {
					n.Unchanged(t, func() { admin.Post("/v1/directory", body).Invalid("fields") })
					return
				}
				if got := fieldsOf(admin, admin.Post("/v1/directory", body).OK().Text("id")); got != c.fields {
					t.Errorf("read %d bytes back, sent %d", len(got), len(c.fields))
				}
			})
		}
	})
}

func TestLimitsOfFieldsHoldForTheMergedFields(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		cases := []struct {
			name, fields, change string
			fits                 bool
		}{
			{"a 65th key", keyed("k", 64), `{"more":1}`, false},
			{"another value for one of 64 keys", keyed("k", 64), `{"k3":"x"}`, true},
			{"one of 64 keys for another", keyed("k", 64), `{"more":1,"k3":null}`, true},
			{"one byte too many", sized(16<<10 - 6), `{"d":22}`, false},
			{"the last byte", sized(16<<10 - 6), `{"d":2}`, true},
			{"less than before", sized(16 << 10), `{"c":null}`, true},
			{"too deep", `{}`, nested(9), false},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				admin := admin.On(t)
				id := admin.Entry(servertest.Body{"fields": json.RawMessage(c.fields)})
				body := `{"fields":` + c.change + `}`
				if c.fits {
					admin.Patch("/v1/directory/"+id, body).OK()
					return
				}
				n.Unchanged(t, func() { admin.Patch("/v1/directory/"+id, body).Invalid("fields") })
			})
		}
	})
}
