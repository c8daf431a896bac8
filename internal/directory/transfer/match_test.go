package transfer_test

import (
	"net/http"
	"testing"

	"bursar/internal/server/servertest"
)

// A line is known by what it is matched by, however that is written, and by nothing else.
func TestWhatMakesALineAnUpdate(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		header := "type,label,email,phone,external_id,method.provider,method.account_name,method.account_id\n"
		c.Import(header + "person,Ada,Ada@example.com,+44 (20) 1234-5678,E-1,bank,Ada,DE12 3456-7890\n" +
			"person,Twin,twin@example.com,1,E-2,bank,Twin,TWIN1\nperson,Twin,twin@example.com,1,E-3,bank,Twin,TWIN1\n")
		for _, c2 := range []struct{ match, line, want string }{
			{"email", "person,New,ADA@EXAMPLE.COM,,,,,", "completed 0 1 0 0"},
			{"phone", "person,Newer,,+442012345678,,,,", "completed 0 1 0 0"},
			{"external_id", "person,Newest,,,E-1,,,", "completed 0 1 0 0"},
			{"external_id", "person,Other case,,,e-1,,,", "completed 1 0 0 0"},
			{"account", "person,By account,,,,bank,Ada,DE12 3456-7890", "completed 0 1 0 0"},
			{"account", "person,By account,,,,bank,Ada,de1234567890", "completed 0 1 0 0"}, // and it has this spelling, too
			{"account", "person,By account,,,,bank,Somebody,DE12 3456-7890", "completed 0 0 0 1"},
			{"email", "person,Twin,twin@example.com,,,,,", "completed 0 0 0 1"},
			{"phone", "person,Twin,,1,,,,", "completed 0 0 0 1"},
			{"account", "person,Twin,,,,bank,Twin,TWIN 1", "completed 0 0 0 1"},
			{"email", "person,Without,,,,,,", "completed 1 0 0 0"},
			{"email", "organization,Kind,ada@example.com,,,,,", "completed 0 0 0 1"},
			{"id", "person,Taken,,,E-1,,,", "completed 0 0 0 1"},
		} {
			if done := c.Import(header+c2.line+"\n", "match", c2.match); servertest.Counts(done) != c2.want {
				t.Errorf("%s matched by %s: %s, want %s\n%s", c2.line, c2.match, servertest.Counts(done), c2.want, c.Get(importPath(done, "/refused")).Body)
			}
		}
		other := n.Tenant(t)
		x := other.Entry("Theirs")
		done := c.Import("id,label\n"+x+",Mine\n", "match", "id")
		if servertest.Counts(done) != "completed 0 0 0 1" {
			t.Errorf("an entry of another workspace: %s", servertest.Counts(done))
		}
	})
}

// Refused lines may hold account numbers: whoever did not send them needs the permission to read those.
func TestRefusedLinesOfAnotherPerson(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		tenant := n.FirstTenant(t)
		tenant.Define("clerk", "ws.directory.read", "ws.directory.write")
		sender, other := tenant.Member("clerk"), tenant.Member("clerk")
		done := sender.Import("type,name\nship,Ada\n")
		sender.Get(importPath(done, "/refused")).OK()
		for _, part := range []string{"/refused", "/plan"} {
			other.Get(importPath(done, part)).Fails(http.StatusForbidden, "FORBIDDEN")
			n.Admin(t).Get(importPath(done, part)).OK()
		}
		// Without the permission to write them, a line with an account is refused.
		done = sender.Import("type,name,method.provider,method.account_name,method.account_id\nperson,Ada,bank,Ada,1\nperson,Bob,,,\n")
		if servertest.Counts(done) != "completed 1 0 0 1" {
			t.Errorf("the import is %s", servertest.Counts(done))
		}
	})
}

// Lines of one transaction see what those before them have done.
func TestLinesSeeTheLinesBefore(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		c := n.Admin(t)
		done := c.Import(`{"type":"person","name":"A","external_id":"X"}
{"type":"person","name":"B","external_id":"X"}
{"type":"person","name":"NUL","external_id":"N\u0000"}
{"type":"person","name":"NUL","tags":["N\u0000"]}
{"type":"person","name":"C","external_id":"Y"}
`, "match", "external_id")
		if servertest.Counts(done) != "completed 2 1 0 2" {
			t.Errorf("the import is %s\n%s", servertest.Counts(done), c.Get(importPath(done, "/refused")).Body)
		}
		x := c.Entries("external_id", "X").OK().Column("id")[0]
		done = c.Import(`{"id":"` + x + `","external_id":"Z"}
{"type":"person","name":"D","external_id":"X"}
{"type":"person","name":"E","external_id":"Z"}
{"type":"person","name":"F","external_id":"Y"}
`)
		if servertest.Counts(done) != "completed 1 1 0 2" {
			t.Errorf("the import is %s\n%s", servertest.Counts(done), c.Get(importPath(done, "/refused")).Body)
		}
	})
}
