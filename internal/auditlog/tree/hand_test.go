package tree_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The commands of docs/audit.md print what the page says, which is what the golden test
// expects of the same row.
func TestALeafCanBeCheckedByHand(t *testing.T) {
	page, err := os.ReadFile("../../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```bash\n")
	commands, rest, closed := strings.Cut(rest, "```\n\n```\n")
	printed, _, ends := strings.Cut(rest, "```")
	if !found || !closed || !ends {
		t.Fatal("docs/audit.md has no commands with what they print after them")
	}
	got, err := exec.Command("bash", "-c", commands).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != printed {
		t.Errorf("the commands print %q, and the page says %q", got, printed)
	}
}
