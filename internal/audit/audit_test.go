package audit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/internal/audit"
)

// actions returns the values of all constants of type Action in the source, so that
// a test cannot miss a new one.
func actions(t *testing.T) []audit.Action {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "action.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []audit.Action
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Action" {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, audit.Action(text))
		}
		return true
	})
	if len(found) < 30 {
		t.Fatalf("found only %d actions in the source", len(found))
	}
	return found
}

func TestActionsListsEveryConstant(t *testing.T) {
	if diff := cmp.Diff(actions(t), audit.Actions()); diff != "" {
		t.Errorf("the constants (-) and Actions (+) differ:\n%s", diff)
	}
}

func TestEveryActionHasAResourceType(t *testing.T) {
	withoutResource := map[audit.Action]bool{audit.AccessDenied: true, audit.LoginFailed: true}
	known := map[audit.ResourceType]bool{
		"member": true, "role": true, "workspace": true, "organization": true, "user": true, "directory_entry": true, "directory_import": true, "directory_bulk": true, "directory": true, "directory_tag": true,
		"receiving_method": true, "payout_rule": true, "payout_limit": true, "payout_request": true, "payout_batch": true, "account": true, "transfer": true, "deposit": true,
		"service": true, "suspense": true, "operator_request": true, "device_code": true, "session": true, "api_key": true, "client": true, "signing_key": true, "vault_key": true, "passkey": true, "audit": true,
	}
	for _, action := range actions(t) {
		resource := action.Resource()
		if (action == audit.AuditExported || action == audit.AuditErased) && resource != audit.Log {
			t.Errorf("the resource type of %s is %q", action, resource)
		}
		if withoutResource[action] {
			if resource != "" {
				t.Errorf("the resource type of %s is %s, want none", action, resource)
			}
			continue
		}
		if !known[resource] {
			t.Errorf("the resource type of %s is %q, which is unknown", action, resource)
		}
	}
}

func TestActionsAreDottedAndUnique(t *testing.T) {
	seen := map[audit.Action]bool{}
	for _, action := range actions(t) {
		parts := 3
		if strings.HasPrefix(string(action), "audit.") || action == audit.DirectoryExported {
			parts = 2 // decisions.md names them so
		}
		if strings.Count(string(action), ".") != parts-1 || strings.ToLower(string(action)) != string(action) {
			t.Errorf("%s is not of the form area.thing.verb", action)
		}
		if seen[action] {
			t.Errorf("%s is there twice", action)
		}
		seen[action] = true
	}
}

// Caches of access must be dropped after these actions, and after no others.
func TestOnlySomeActionsChangeAccess(t *testing.T) {
	changes := map[audit.Action]bool{
		audit.MemberAdded: true, audit.MemberRemoved: true, audit.MemberSuspended: true, audit.MemberReinstated: true, audit.MemberRoleAssigned: true, audit.MemberRoleRemoved: true,
		audit.MemberGrantApproved: true, audit.ApproverAppointed: true, audit.RoleChangeApproved: true, audit.SecondPersonExtended: true,
		audit.RoleCreated: true, audit.RoleUpdated: true, audit.RoleDeleted: true,
		audit.WorkspaceCreated: true, audit.WorkspaceUpdated: true,
		audit.OrganizationCreated: true, audit.OrganizationSettingsUpdated: true, audit.OwnerAdded: true, audit.OwnerRemoved: true, audit.OwnerSuspended: true, audit.OwnerReinstated: true, audit.LeaverRemoved: true, audit.OperatorAdded: true, audit.OperatorRemoved: true,
		audit.UserDisabled: true, audit.UserEnabled: true,
		audit.MemberAccepted: true, audit.UserRenamed: true,
		audit.SessionRevoked: true, audit.StoreRestored: true, audit.KeyRotated: true, audit.KeyRevoked: true, audit.ClientRotated: true, audit.ClientRevoked: true, audit.ClientSecretEnded: true, audit.SigningKeyRotated: true,
		audit.AccountRecovered: true, audit.FactorsReset: true, audit.PasswordChanged: true,
		audit.ReceivingPolicyUpdated: true, audit.ReceivingPolicyApproved: true,
		audit.PayoutRuleCreated: true, audit.PayoutRuleRemoved: true, audit.PayoutRuleApproved: true,
		audit.PayoutLimitCreated: true, audit.PayoutLimitUpdated: true, audit.PayoutLimitRemoved: true, audit.PayoutLimitApproved: true,
		audit.PayoutSendingStopped: true, audit.PayoutSendingResumed: true, audit.PayoutSendingApproved: true,
		audit.ServiceDriven: true,
		audit.PasskeyAdded:  true, audit.TOTPEnabled: true, audit.VaultKeyReplaced: true, audit.VaultResealed: true,
	}
	for _, action := range actions(t) {
		if got := (audit.Event{Action: action}).ChangesAccess(); got != changes[action] {
			t.Errorf("%s changes access: %v, want %v", action, got, changes[action])
		}
	}
}

func TestARefusedActionDoesNotChangeAccess(t *testing.T) {
	for _, outcome := range []audit.Outcome{audit.Denied, audit.Failure} {
		if (audit.Event{Action: audit.MemberRemoved, Outcome: outcome}).ChangesAccess() {
			t.Errorf("an attempt with outcome %s changes access", outcome)
		}
	}
}

func TestAnEventIsEmptyWithoutActionAndReason(t *testing.T) {
	for name, c := range map[string]struct {
		event audit.Event
		empty bool
	}{
		"no action": {audit.Event{Description: "no action"}, true},
		"an action": {audit.Event{Action: audit.TagCreated}, false},
		"a reason":  {audit.None("expired by itself"), false},
		"no reason": {audit.None(""), true},
	} {
		if c.event.Empty() != c.empty {
			t.Errorf("%s: empty is %v", name, c.event.Empty())
		}
	}
}
