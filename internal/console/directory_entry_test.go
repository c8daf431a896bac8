package console_test

import (
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

func fieldsOf(t *testing.T, n *servertest.Node, id string) string {
	t.Helper()
	body := string(n.Admin(t).Get("/v1/directory/" + id).OK().Body)
	_, rest, _ := strings.Cut(body, `"fields":`)
	fields, _, _ := strings.Cut(rest, `,"tags":`)
	return fields
}

func TestMarkupInEntriesIsInert(t *testing.T) {
	t.Parallel()
	n := start(t)
	admin := n.Admin(t)
	const evil = `"><img src=x onerror=alert(1)><script>alert(2)</script>`
	id := admin.Entry(servertest.Body{
		"label": evil, "name": evil, "tags": []string{evil}, "fields": servertest.Body{evil: evil, "industry": evil, "phone": evil, "deep": servertest.Body{evil: evil}},
	})
	admin.Post("/v1/directory/"+id+"/receiving-methods", servertest.Body{"provider": evil, "account_name": evil, "account_id": evil}).OK()
	rm := admin.Get("/v1/directory/" + id).OK().Object()["receiving_methods"].([]any)[0].(map[string]any)["id"].(string)
	admin.Delete("/v1/directory/" + admin.Entry(servertest.Body{"label": evil})).OK()
	page := open(t, n, adminEmail, "/directory")
	for _, path := range []string{"", "?q=img", "?tag=" + strings.ReplaceAll(evil, " ", "+"), "/" + id, "/" + id + "?reveal=" + rm, "/" + id + "/edit", "/" + id + "/receiving/" + rm, "/tags", "/deleted"} {
		page.Goto(n.PublicURL + room(n, "/directory"+path))
		if page.Has("main img") || page.Has("main script") {
			t.Errorf("/directory%s runs what somebody wrote", path)
		}
		if !strings.Contains(page.Text("main"), "<img src=x") && !page.Has(`main input[value*="<img src=x"]`) {
			t.Errorf("/directory%s does not show what somebody wrote", path)
		}
	}
	page.Goto(n.PublicURL + room(n, "/directory/"+id))
	page.Accessible("an entry full of markup")
	page.Shoot("directory-markup")
}
