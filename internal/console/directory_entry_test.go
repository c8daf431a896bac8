package console_test

import (
	"slices"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// detailed creates an entry with fields of all JSON types.
func detailed(t *testing.T, n *servertest.Node) string {
	t.Helper()
	return n.Admin(t).Post("/v1/directory", `{"workspace_id": "`+n.First.WorkspaceID+`", "type": "person", "tags": ["payroll"], "fields": {
		"first-name": "Grace", "last-name": "Hopper", "email": "grace@navy.example",
		"salary": 12345678901234567890.10, "remote": true, "address": {"city": "Makati", "zip": 1200}, "note": "one\ntwo"}}`).OK().Text("id")
}

func fieldsOf(t *testing.T, n *servertest.Node, id string) string {
	t.Helper()
	body := string(n.Admin(t).Get("/v1/directory/" + id).OK().Body)
	_, rest, _ := strings.Cut(body, `"fields":`)
	fields, _, _ := strings.Cut(rest, `,"tags":`)
	return fields
}

func TestEntryIsEdited(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := detailed(t, n)
	page := open(t, n, adminEmail, "/directory/"+id)
	page.WaitText("12345678901234567890.10")
	page.Accessible("an entry")
	page.Shoot("directory-entry")
	page.ClickText("Copy the ID " + id)
	page.WaitText("Copied")

	page.ClickText("Edit")
	page.Accessible("the form of an entry")
	page.Shoot("directory-edit")
	page.Fill("Last name", "Murray Hopper")
	page.Uncheck("payroll")
	page.Fill("Other tags", "navy, remote team")
	page.ClickText("Remove the field remote")
	page.ClickText("Add field")
	page.Fill(`.pair:last-child [name="key"]`, "rank")
	page.Fill(`.pair:last-child [name="value"]`, "007")
	page.ClickText("Save")
	page.WaitText("Changes saved.")
	if got := page.Text("h1"); !strings.HasPrefix(got, "Grace Murray Hopper") {
		t.Errorf("the label did not follow the name: %q", got)
	}
	if got := page.Texts("#tags ~ ul .chip a"); !slices.Equal(got, []string{"navy", "remote team"}) {
		t.Errorf("the tags are %q", got)
	}
	want := `{"first-name":"Grace","last-name":"Murray Hopper","email":"grace@navy.example",` +
		`"salary":12345678901234567890.10,"address":{"city":"Makati","zip":1200},"note":"one\ntwo","rank":"007"}`
	if got := fieldsOf(t, n, id); got != want {
		t.Errorf("the fields are %s, want %s", got, want)
	}

	page.ClickText("Deactivate")
	page.WaitText("Entry is now inactive.")
	page.Accessible("an inactive entry")
	page.ClickText("Activate")
	page.WaitText("Entry is now active.")
	if got := n.Audited(t, id); len(got) != 4 {
		t.Errorf("the audit log has %q", got)
	}
	if got := page.Texts(".feed li"); len(got) != 4 || !strings.Contains(got[3], "Created person Grace Hopper") {
		t.Errorf("the history is %q", got)
	}
}

func TestEntryFormShowsProblemsBesideTheirFields(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/new")
	page.ExpectStatus(400)
	page.Fill("First name", "Ada")
	page.Fill("Email", "not an address")
	page.Fill("Tags", "blue")
	page.ClickText("Add field")
	page.Fill("Field", "shoe-size")
	page.Fill("Value", "38")
	page.ClickText("Add to directory")
	page.WaitText("Must be an email address.")
	page.Accessible("a form with a problem")
	page.Shoot("directory-form-problem")
	for label, want := range map[string]string{"First name": "Ada", "Email": "not an address", "Tags": "blue", "Field": "shoe-size", "Value": "38"} {
		if got := page.Value(label); got != want {
			t.Errorf("%s was %q and is shown again as %q", label, want, got)
		}
	}
	page.Fill("Email", "ada@example.com")
	page.Fill("Field", "email")
	page.ClickText("Add to directory")
	page.WaitText("Two fields have the same name")
	page.Fill("Field", "")
	page.ClickText("Add to directory")
	page.WaitText("A field has a value but no name")
	page.Fill("Field", "shoe-size")
	page.ClickText("Add to directory")
	page.WaitText("Added to the directory.")
}

func TestANewEntryNeedsAName(t *testing.T) {
	t.Parallel()
	n := start(t)
	page := open(t, n, adminEmail, "/directory/new")
	page.ExpectStatus(422)
	page.Fill("Tags", "blue")
	page.ClickText("Add to directory")
	page.WaitText("Enter a name.")
	if page.Value("Tags") != "blue" || !page.Has(`#field-first-name[aria-invalid="true"]`) {
		t.Error("what was typed is lost, or the first name is not marked")
	}
	page.Accessible("a form without a name")
	page.Shoot("directory-form-nameless")
	page.Fill("Phone", "+63 917 555 0101")
	page.ClickText("Add to directory")
	page.WaitText("Enter a name.")
	page.Fill("Last name", "Reyes")
	page.ClickText("Add to directory")
	page.WaitText("Added to the directory.")

	v := browse(t, n, adminEmail)
	for what, pairs := range map[string][]string{
		"an industry alone":     {"type", "organization", "field-industry", "Food"},
		"an address alone":      {"type", "person", "field-email", "ada@example.com"},
		"a custom field alone":  {"type", "person", "key", "team", "value", "blue", "from", ""},
		"a name made of spaces": {"type", "person", "field-first-name", "  "},
	} {
		holds(t, what, v.post(room(n, "/directory"), pairs...), 422, "Enter a name.")
	}
	holds(t, "a label alone", v.post(room(n, "/directory"), "type", "person", "label", "The plumber"), 200, "The plumber")
	if got := n.Admin(t).Entries().OK().Column("label"); len(got) != 2 {
		t.Errorf("the directory has %q", got)
	}
	n.Admin(t).Post("/v1/directory", servertest.Body{"workspace_id": n.First.WorkspaceID, "type": "person", "fields": servertest.Body{}}).OK() // the API accepts such an entry
}

func TestAccountNumbersAreMasked(t *testing.T) {
	t.Parallel()
	n := start(t)
	id := n.Admin(t).Entry(servertest.Body{"name": "Jose Reyes"})
	const number = "0049871234567890"
	page := open(t, n, adminEmail, "/directory/"+id)
	html := func() (text string) { page.Eval("document.documentElement.outerHTML", &text); return text }

	page.ClickText("Add method")
	page.Accessible("the form of a receiving method")
	page.Shoot("directory-method")
	page.Fill("Bank or wallet", "BPI")
	page.Fill("Account name", "Jose P. Reyes")
	page.Fill("Account number", number)
	page.ClickText("Add")
	page.WaitText("Receiving method added.")
	page.WaitText("•••• 7890")
	if strings.Contains(html(), number[:8]) {
		t.Error("the page holds a whole account number")
	}
	page.ClickText("Add method")
	page.Fill("Bank or wallet", "GCash")
	page.Fill("Account name", "Jose Reyes")
	page.Fill("Account number", "5551234")
	page.ClickText("Add")
	page.WaitText("GCash")
	if text := html(); strings.Contains(text, "1234") || !strings.Contains(page.Text("main"), "••••") {
		t.Error("a short number is not fully masked")
	}
	page.Accessible("an entry with receiving methods")
	page.Shoot("directory-receiving")

	page.ClickText("Show the account number at BPI")
	page.WaitText(number)
	if strings.Contains(html(), "5551234") {
		t.Error("one number was asked for and two are shown")
	}
	page.Accessible("an account number in clear")
	page.Shoot("directory-revealed")
	page.ClickText("Hide the account number at BPI")
	page.WaitGone(number)

	page.ClickText("Make default: GCash")
	page.WaitText("Default receiving method changed.")
	page.ClickText("Edit BPI")
	if strings.Contains(html(), number) || page.Value("New account number") != "" {
		t.Error("the form holds a whole account number")
	}
	page.Accessible("the form of a receiving method that exists")
	page.Shoot("directory-method-edit")
	page.Fill("Account name", "J. P. Reyes")
	page.ClickText("Save")
	page.WaitText("Receiving method saved.")
	page.ClickText("Remove GCash")
	page.WaitText("Remove the receiving method at GCash?")
	page.ClickText("Remove")
	page.WaitText("Receiving method removed.")

	methods := n.Admin(t).Get("/v1/directory/" + id).OK().Object()["receiving_methods"].([]any)
	if len(methods) != 1 {
		t.Fatalf("the methods are %v", methods)
	}
	left := methods[0].(map[string]any)
	if left["account_id"] != number || left["account_name"] != "J. P. Reyes" || left["is_default"] != true {
		t.Errorf("the method that is left is %v", left)
	}
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
