package cli

import (
	"os"
	"regexp"
	"testing"
)

func TestTheChangelogHasTheVersionOfTheProgram(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if newest := regexp.MustCompile(`(?m)^## (\d\S*)$`).FindSubmatch(text); newest == nil || string(newest[1]) != version {
		t.Errorf("the program is %s, and the changelog has %q", version, newest)
	}
}
