package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"bursar/client"
)

func TestOnlyFailuresThatMayGoAwayAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"too many":            {&client.Error{Status: 429}, true},
		"a server that fails": {&client.Error{Status: 503}, true},
		"a cut connection":    {io.ErrUnexpectedEOF, true},
		"shut out":            {&client.Error{Status: 401}, false},
		"unknown code":        {&client.Error{Status: 404}, false},
		"interrupted":         {context.Canceled, false},
		"wrapped":             {errors.Join(errors.New("poll"), &client.Error{Status: 400}), false},
	} {
		if got := retryable(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
