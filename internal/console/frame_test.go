package console_test

import (
	"testing"
	"time"

	"bursar/internal/browsertest"
)

func TestTimesAreInTheLanguageOfThePage(t *testing.T) {
	n := start(t)
	bare := open(t, n, adminEmail, "/audit?scope=own", browsertest.WithoutScripts())
	if _, err := time.Parse("Jan 2, 2006, 3:04 PM", bare.Text(`time[data-time="short"]`)); err != nil {
		t.Errorf("without scripts the time looks different: %v", err)
	}
	page := open(t, n, adminEmail, "/audit?scope=own", browsertest.Language("de-DE"))
	var browser, shown string
	page.Eval(`Intl.DateTimeFormat().resolvedOptions().locale`, &browser)
	page.Eval(`document.querySelector('time[data-time="short"]').textContent`, &shown)
	if _, err := time.Parse("Jan 2, 2006, 3:04 PM", shown); err != nil || browser != "de-DE" {
		t.Errorf("in a browser that speaks %s the English page has the time %q", browser, shown)
	}
}
