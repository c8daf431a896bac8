package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"bursar/api"
	"bursar/client"
)

func TestLoginGoesWhereItIsTold(t *testing.T) {
	known := &profile{Current: "pay", Contexts: map[string]*target{"pay": {URL: "https://pay.example.com"}, "test": {URL: "https://test.example.com"}}}
	nobody := &profile{Contexts: map[string]*target{}}
	for name, c := range map[string]struct {
		profile *profile
		context string
		env     func(string) (string, bool)
		args    []string
		want    string
	}{
		"an argument":         {known, "", variables("BURSAR_URL", "https://env.example.com"), []string{"https://arg.example.com"}, "https://arg.example.com"},
		"a variable":          {known, "", variables("BURSAR_URL", "https://env.example.com"), nil, "https://env.example.com"},
		"the current context": {known, "", variables(), nil, "https://pay.example.com"},
		"a context":           {known, "test", variables(), nil, "https://test.example.com"},
		"nothing":             {nobody, "", variables(), nil, defaultURL},
		"a host alone":        {nobody, "", variables(), []string{"pay.example.com"}, "https://pay.example.com"},
		"slashes":             {nobody, "", variables(), []string{"https://pay.example.com//"}, "https://pay.example.com"},
		"the version":         {nobody, "", variables(), []string{"https://pay.example.com/v1/"}, "https://pay.example.com"},
		"a path":              {nobody, "", variables(), []string{"https://example.com/bursar/v1"}, "https://example.com/bursar"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &remote{terminal: Terminal{Env: c.env}, contextName: c.context}
			if got, err := r.loginURL(c.profile, c.args); err != nil || got != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	r := &remote{terminal: Terminal{Env: variables()}, contextName: "nowhere"}
	if _, err := r.loginURL(known, nil); err == nil {
		t.Error("a context that is not there is no error")
	}
}

func TestExpiryIsReadFromTheToken(t *testing.T) {
	for token, want := range map[string]int64{
		testToken:          1700000000000,
		"e30.e30.e30":      0,
		"e30.!!.e30":       0,
		"e30.bm90anNvbg.x": 0,
		"two.parts":        0,
		"":                 0,
	} {
		if got := expiryOf(token); got != want {
			t.Errorf("%q ends at %d", token, got)
		}
	}
}

func TestPollIsRepeatedAfterWhatPasses(t *testing.T) {
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
		if got := transient(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestPeopleAreCalledByWhatIsKnown(t *testing.T) {
	for want, user := range map[string]api.User{
		"Ada":             {ID: "usr_1", Email: "ada@example.com", Name: "Ada"},
		"ada@example.com": {ID: "usr_1", Email: "ada@example.com"},
		"usr_1":           {ID: "usr_1"},
	} {
		if got := called(user); got != want {
			t.Errorf("%+v is called %s", user, got)
		}
	}
}
