package cli

import (
	"errors"
	"fmt"
	"testing"
)

func TestAnErrorLosesTheNameOfItsPackageAndNoNameOfAFile(t *testing.T) {
	for want, err := range map[string]error{
		"the HTTP client is nil":                          errors.New("bursar: the HTTP client is nil"),
		"pay: encode the body: no":                        fmt.Errorf("pay: %w", errors.New("bursar: encode the body: no")),
		"open the archive: open monday.bursar: not there": errors.New("open the archive: open monday.bursar: not there"),
	} {
		if got := explain(err); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
