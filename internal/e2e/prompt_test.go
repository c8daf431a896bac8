package e2e_test

import (
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestCtrlCEndsAQuestion(t *testing.T) {
	t.Parallel()
	node := servertest.Start(t, dbtest.SQLite(t))
	admin := node.Admin(t)
	admin.Post("/v1/workspaces", servertest.Body{"name": "Payroll", "organization_id": node.First.OrganizationID}).OK()
	for name, c := range map[string]struct {
		args        []string
		typed       string
		asked, said string
	}{
		"Ctrl-C at a choice":       {[]string{"members", "list"}, "\x03", "Number: ", "\nbursar: interrupted\n"},
		"Ctrl-D at a choice":       {[]string{"members", "list"}, "\x04", "Number: ", "\nbursar: no answer was given\n"},
		"Ctrl-C at a confirmation": {[]string{"members", "remove", "admin@example.com", "-w", node.First.WorkspaceID}, "\x03", "[y/N] ", "\nbursar: nothing was changed\n"},
		"Ctrl-D at a confirmation": {[]string{"members", "remove", "admin@example.com", "-w", node.First.WorkspaceID}, "\x04", "[y/N] ", "\nbursar: nothing was changed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSeat(t)
			s.env = append(s.env, "BURSAR_URL="+node.URL, "BURSAR_TOKEN="+admin.Token)
			s.begin(true, c.args...)
			s.sees(c.asked)
			if _, err := s.screen.WriteString(c.typed); err != nil {
				t.Fatal(err)
			}
			if got := s.end(); got != 1 || !strings.HasSuffix(strings.ReplaceAll(s.shown.String(), "\r\n", "\n"), c.said) {
				t.Errorf("exit code %d:\n%q", got, s.shown)
			}
		})
	}
}
