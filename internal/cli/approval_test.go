package cli

import (
	"regexp"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// The command line shows approvers whose address is not verified, and which permissions the requester and they got lately.
func TestApprovalsShowUnverifiedAddressesAndRoleChanges(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	_, id := x.Unverified()
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"approvals", "show", id}, `(?m)^Requested by .*\(address not verified\)$`},
		{[]string{"approvals", "show", id}, `(?m)^  User .* \(address not verified\)  .*Called the payee\.$`},
		{[]string{"approvals", "show", id}, `(?m)^Role changed lately .* as disbursement_manager .*\+ws\.payouts\.create`},
		{[]string{"approvals", "show", id}, `(?m)^Role changed lately .* as admin .*\+ws\.payouts\.approve`},
		{[]string{"approvals", "policy"}, `(?m)^May approve .*, address not verified$`},
	} {
		terminal, stdout, stderr := pipes("BURSAR_URL", n.URL, "BURSAR_TOKEN", x.Owner.Token, "BURSAR_WORKSPACE", x.WorkspaceID, "BURSAR_KEYRING", "off",
			"BURSAR_CONFIG_DIR", t.TempDir())
		if code := Run(t.Context(), one.args, terminal); code != exitOK || !regexp.MustCompile(one.want).MatchString(stdout.String()) {
			t.Errorf("%v ends with %d and prints %s%s, want %s", one.args, code, stdout, stderr, one.want)
		}
	}
}
