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

func TestEveryActionHasAResourceTypeAndATitle(t *testing.T) {
	withoutResource := map[audit.Action]bool{audit.AccessDenied: true, audit.LoginFailed: true}
	for _, action := range audit.Actions() {
		if got := action.Resource(); (got == "") != withoutResource[action] {
			t.Errorf("the resource type of %s is %q", action, got)
		}
		if title := action.Title(); title == "" || strings.ContainsAny(title, "._") {
			t.Errorf("the title of %s is %q", action, title)
		}
	}
	if got := audit.Action("space.ship.launched").Title(); got != "space.ship.launched" {
		t.Errorf("the title of an unknown action is %q", got)
	}
}

func TestActionsAreDottedAndUnique(t *testing.T) {
	seen := map[audit.Action]bool{}
	for _, action := range actions(t) {
		parts := 3
		if strings.HasPrefix(string(action), "audit.") || action == audit.DirectoryExported {
			parts = 2 // the contract names them so
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

// What happens to people, roles and workspaces drops the caches of access, unless it is named here.
func TestActionsOnPeopleAndRolesChangeAccess(t *testing.T) {
	harmless := map[audit.Action]bool{
		audit.UserCreated: true, audit.AccessDenied: true, audit.MemberInvited: true, audit.MemberDeclined: true,
		audit.MemberGrantRequested: true, audit.MemberGrantRejected: true, audit.MemberGrantWithdrawn: true, audit.MemberGrantExpired: true,
		audit.RoleChangeRequested: true, audit.RoleChangeRejected: true, audit.RoleChangeWithdrawn: true, audit.RoleChangeExpired: true,
		audit.ReceivingPolicyRequested: true, audit.ReceivingPolicyRejected: true, audit.ReceivingPolicyWithdrawn: true, audit.ReceivingPolicyExpired: true,
	}
	for _, action := range audit.Actions() {
		if !strings.HasPrefix(string(action), "iam.") {
			continue
		}
		if got := (audit.Event{Action: action}).ChangesAccess(); got == harmless[action] {
			t.Errorf("%s changes access: %v", action, got)
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
