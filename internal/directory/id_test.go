package directory_test

import (
	"net/url"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// The store holds sixteen bytes of an id. Another spelling of the same bytes, or a text that
// has none, must be answered as an id that nothing has.
func TestAnotherSpellingOfAnIDIsNotFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		n := servertest.Start(t, store)
		admin := n.Admin(t)
		id := admin.Entry(servertest.Body{"label": "Ada"})
		admin.AddMethod(id, servertest.Account("1"))
		before := n.Contents(t)
		requests := func(id string) (answers []string) {
			path := "/v1/directory/" + url.PathEscape(id)
			for _, a := range []*servertest.Answer{
				admin.Get(path), admin.Patch(path, servertest.Body{"label": "Eve"}), admin.Delete(path), admin.Post(path+"/restore", nil),
				admin.Post(path+"/receiving-methods", servertest.Account("2")),
			} {
				answers = append(answers, string(a.Body))
			}
			return answers
		}
		want := requests("entry_01m7f4dmeb000sgqgd6d7veyf4")
		digits := strings.TrimPrefix(id, "entry_")
		for _, other := range []string{
			strings.ToUpper(id), "entry_" + strings.ToUpper(digits), "aud_" + digits, "tag_" + digits, digits, "entry_" + digits[1:], id + "0", id + "~",
			"entry_8" + digits[1:], strings.Replace(id, "0", "o", 1), strings.Replace(id, "0", "O", 1), "entry_", "entry_" + strings.Repeat("é", 13),
			strings.Repeat("0", 60), "~", "NULL",
		} {
			for i, got := range requests(other) {
				if got != want[i] {
					t.Errorf("%q: request %d is answered %s, want %s", other, i, got, want[i])
				}
			}
			if row := admin.Get("/v1/audit?workspace_id=" + n.First.WorkspaceID + "&resource_id=" + url.QueryEscape(other)).OK().List(); len(row) != 0 {
				t.Errorf("%q has the audit rows %v", other, row)
			}
		}
		after := n.Contents(t)
		if len(after["directory_entry"]) != 1 || after["directory_entry"][0] != before["directory_entry"][0] {
			t.Errorf("the entry is %q, was %q", after["directory_entry"], before["directory_entry"])
		}
	})
}
