package cli

import (
	"strings"
	"testing"

	"bursar/api"
)

var someWorkspaces = []api.Workspace{
	{ID: "ws_1", Name: "Treasury", Slug: "treasury"},
	{ID: "ws_2", Name: "Payroll", Slug: "payroll"},
	{ID: "ws_3", Name: "Payroll", Slug: "payroll-2"},
	{ID: "ws_4", Name: "ws_1", Slug: "trap"},
	{ID: "ws_5", Name: "PAYROLL", Slug: "loud"},
}

// callOn returns a run at a terminal, without a server.
func callOn(t *testing.T, terminal Terminal) *call {
	return &call{Context: t.Context(), session: &session{terminal: terminal}}
}

func TestThingsAreMeantByIDSlugOrName(t *testing.T) {
	terminal, _, _ := pipes()
	for ref, want := range map[string]string{
		"ws_2":      "ws_2",
		"treasury":  "ws_1",
		"Treasury":  "ws_1",
		"TREASURY":  "ws_1",
		"payroll":   "ws_2", // exactly its slug
		"PAYROLL":   "ws_5", // exactly its name
		"payroll-2": "ws_3",
		"ws_1":      "ws_1", // an id beats a name
		"trap":      "ws_4",
	} {
		if got, err := workspaces().pick(callOn(t, terminal), ref, someWorkspaces); err != nil || got.ID != want {
			t.Errorf("%s means %s, %v", ref, got.ID, err)
		}
	}
}

func TestNothingIsMeantByWhatIsNotThere(t *testing.T) {
	terminal, _, _ := pipes()
	for _, ref := range []string{"nowhere", "", "treasur", "ws_"} {
		if got, err := workspaces().pick(callOn(t, terminal), ref, someWorkspaces); err == nil {
			t.Errorf("%q means %s", ref, got.ID)
		}
	}
}

func TestAmbiguousNameIsRefusedWithItsCandidates(t *testing.T) {
	terminal, _, _ := pipes()
	for _, ref := range []string{"Payroll", "PayRoll"} {
		_, err := workspaces().pick(callOn(t, terminal), ref, someWorkspaces)
		if err == nil || !strings.Contains(err.Error(), "ws_2") || !strings.Contains(err.Error(), "ws_3") {
			t.Errorf("%s: %v", ref, err)
		}
		if err != nil && strings.Contains(err.Error(), "ws_1") {
			t.Errorf("%s: what does not fit is offered: %v", ref, err)
		}
	}
}

func TestAmbiguousNameIsAskedAbout(t *testing.T) {
	s := newScreen(t, 80)
	s.Type("2")
	var got api.Workspace
	var err error
	shown := s.Shows(func() {
		got, err = workspaces().pick(callOn(t, s.Terminal), "Payroll", someWorkspaces)
	})
	if err != nil || got.ID != "ws_3" {
		t.Errorf("chose %s, %v", got.ID, err)
	}
	if !strings.Contains(shown, `"Payroll" is ambiguous. Which workspace?`) || !strings.Contains(shown, "  2  Payroll  payroll-2  ws_3\n") {
		t.Errorf("the screen shows:\n%s", shown)
	}
}

func TestCandidatesAreShownHarmlessly(t *testing.T) {
	terminal, _, _ := pipes()
	twins := []api.Workspace{{ID: "ws_1", Name: "\x1b[2Ja", Slug: "x"}, {ID: "ws_2", Name: "\x1b[2Ja", Slug: "y"}}
	_, err := workspaces().pick(callOn(t, terminal), "\x1b[2Ja", twins)
	if err == nil || strings.Contains(explain(err), "\x1b") {
		t.Errorf("the error is %q", explain(err))
	}
}
