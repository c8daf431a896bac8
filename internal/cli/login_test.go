package cli

import (
	"testing"

	"bursar/api"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term/termtest"
)

func TestLoginUsesTheGivenServer(t *testing.T) {
	known := &profile.Profile{Current: "pay", Contexts: map[string]*profile.Context{"pay": {URL: "https://pay.example.com"}, "test": {URL: "https://test.example.com"}}}
	nobody := &profile.Profile{Contexts: map[string]*profile.Context{}}
	for name, c := range map[string]struct {
		profile *profile.Profile
		context string
		env     func(string) (string, bool)
		args    []string
		want    string
	}{
		"an argument":         {known, "", termtest.Env("BURSAR_URL", "https://env.example.com"), []string{"https://arg.example.com"}, "https://arg.example.com"},
		"a variable":          {known, "", termtest.Env("BURSAR_URL", "https://env.example.com"), nil, "https://env.example.com"},
		"the current context": {known, "", termtest.Env(), nil, "https://pay.example.com"},
		"a context":           {known, "test", termtest.Env(), nil, "https://test.example.com"},
		"nothing":             {nobody, "", termtest.Env(), nil, defaultURL},
		"a host alone":        {nobody, "", termtest.Env(), []string{"pay.example.com"}, "https://pay.example.com"},
		"slashes":             {nobody, "", termtest.Env(), []string{"https://pay.example.com//"}, "https://pay.example.com"},
		"the version":         {nobody, "", termtest.Env(), []string{"https://pay.example.com/v1/"}, "https://pay.example.com"},
		"a path":              {nobody, "", termtest.Env(), []string{"https://example.com/bursar/v1"}, "https://example.com/bursar"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &remote{terminal: Terminal{Env: c.env}, contextName: c.context}
			if got, err := r.loginURL(c.profile, c.args); err != nil || got != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	r := &remote{terminal: Terminal{Env: termtest.Env()}, contextName: "nowhere"}
	if _, err := r.loginURL(known, nil); err == nil {
		t.Error("a context that is not there is no error")
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
