package audit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
)

func TestAScopeIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []audit.Scope{
		{},
		{Administer: true},
		{Permissions: []string{"ws.read", "ws.payouts.create"}, WorkspaceIDs: []string{"ws_1"}, Mode: audit.SandboxMode},
		{Permissions: []string{}, WorkspaceIDs: []string{}},
	} {
		got, err := audit.ParseScope(want.String())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", want.String(), err, diff)
		}
	}
}

func TestAScopeWithinAnotherAllowsWhatBothAllow(t *testing.T) {
	all := audit.Scope{Administer: true}
	payer := audit.Scope{Permissions: []string{"ws.read", "ws.payouts.create"}, WorkspaceIDs: []string{"ws_1", "ws_2"}, Mode: audit.SandboxMode, Administer: true}
	for name, c := range map[string]struct{ a, b, want audit.Scope }{
		"all and all":      {all, all, all},
		"all and some":     {all, payer, payer},
		"some and all":     {payer, all, payer},
		"no administering": {payer, audit.Scope{}, audit.Scope{Permissions: payer.Permissions, WorkspaceIDs: payer.WorkspaceIDs, Mode: audit.SandboxMode}},
		"what is in both": {payer, audit.Scope{Permissions: []string{"ws.read", "ws.write"}, WorkspaceIDs: []string{"ws_2", "ws_3"}, Mode: audit.BothModes},
			audit.Scope{Permissions: []string{"ws.read"}, WorkspaceIDs: []string{"ws_2"}, Mode: audit.SandboxMode}},
		"nothing in both": {audit.Scope{WorkspaceIDs: []string{"ws_1"}}, audit.Scope{WorkspaceIDs: []string{"ws_2"}}, audit.Scope{WorkspaceIDs: []string{}}},
	} {
		if diff := cmp.Diff(c.want, c.a.Within(c.b)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestScopesOfDifferentModesAllowNothingTogether(t *testing.T) {
	got := audit.Scope{Mode: audit.SandboxMode}.Within(audit.Scope{Mode: audit.LiveMode})
	if got.InMode(audit.SandboxMode) || got.InMode(audit.LiveMode) || got.InWorkspace("ws_1") {
		t.Errorf("%+v", got)
	}
}
