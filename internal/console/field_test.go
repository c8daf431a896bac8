package console

import (
	"html/template"
	"net/url"
	"strings"
	"testing"
)

// rendered shows a field with these values and problems, as a page does.
func rendered(t *testing.T, values url.Values, p problems, make func(v view) field) string {
	t.Helper()
	all, err := template.New("").Funcs(functions(assets{})).ParseFS(templateFiles, "templates/frame_field.html")
	if err != nil {
		t.Fatal(err)
	}
	p.inputs = &inputs{}
	v := view{values: values, Problems: p}
	var out strings.Builder
	for range 2 { // as a page with problems is
		out.Reset()
		if err := all.ExecuteTemplate(&out, "field", make(v)); err != nil {
			t.Fatal(err)
		}
		v.Problems = v.Problems.placed()
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestFieldHasItsLabelHintValueAndProblem(t *testing.T) {
	t.Parallel()
	make := func(v view) field { return v.Input("name", "Name", `required maxlength="100" autofocus`) }
	for name, c := range map[string]struct {
		problems problems
		want     string
	}{
		"right": {problems{}, `<div class="field"> <label for="name">Name</label> <input id="name" name="name" required maxlength="100" autofocus value="A &amp; B"> </div>`},
		"wrong": {problem("name", "must be shorter"), `<div class="field"> <label for="name">Name</label> <input id="name" name="name" required maxlength="100" ` +
			`aria-invalid="true" autofocus aria-describedby="name-problem" value="A &amp; B"> <p class="problem" id="name-problem">Must be shorter.</p> </div>`},
	} {
		if got := rendered(t, url.Values{"name": {"A & B"}}, c.problems, make); got != c.want {
			t.Errorf("a field that is %s is\n%s, want\n%s", name, got, c.want)
		}
	}
	got := rendered(t, nil, problem("name", "x"), func(v view) field {
		f := v.Area("name", "Name")
		f.Hint, f.Class, f.Note = "Short.", "short", "Optional"
		return f
	})
	want := `<div class="field short"> <label for="name">Name <span class="muted">Optional</span></label> <p class="hint" id="name-hint">Short.</p> ` +
		`<textarea id="name" name="name" aria-invalid="true" autofocus aria-describedby="name-hint name-problem"> </textarea> <p class="problem" id="name-problem">X.</p> </div>`
	if got != want {
		t.Errorf("a field with a hint is\n%s, want\n%s", got, want)
	}
}

func TestSecretIsNotShownAgain(t *testing.T) {
	t.Parallel()
	got := rendered(t, url.Values{"password": {"correct horse"}}, problems{}, func(v view) field { return v.Blank("password", "Password", `type="password"`) })
	if strings.Contains(got, "horse") || strings.Contains(got, "value") {
		t.Errorf("the field is %s", got)
	}
}

func TestFilterKeepsAValueThatIsNoOption(t *testing.T) {
	t.Parallel()
	groups := []choice{{Text: "Any"}, {Text: "People", Group: options("a", "Ada", "b", "Bob")}}
	for value, want := range map[string]string{
		"":  `<option value="" selected>Any</option> <optgroup label="People"> <option value="a">Ada</option> <option value="b">Bob</option></optgroup> </select>`,
		"b": `<option value="">Any</option> <optgroup label="People"> <option value="a">Ada</option> <option value="b" selected>Bob</option></optgroup> </select>`,
		"c": `<option value="">Any</option> <optgroup label="People"> <option value="a">Ada</option> <option value="b">Bob</option></optgroup> <option value="c" selected>c</option> </select>`,
	} {
		if got := rendered(t, url.Values{"who": {value}}, problems{}, func(v view) field {
			f := v.Select("who", "Who", groups)
			f.keeps = true
			return f
		}); !strings.Contains(got, want) {
			t.Errorf("with the value %q, the field is\n%s, want\n%s", value, got, want)
		}
	}
}

func TestProblemsWithoutAnInputAreAboveTheForm(t *testing.T) {
	t.Parallel()
	p := problems{Text: "Look at it again.", Fields: map[string]string{"name": "is required", "mode": "must be live", "currency": "must be PHP"}, inputs: &inputs{}}
	p.inputs.add(input{"mode", "mode", "Mode"})
	p.inputs.add(input{"name", "the-name", "Name"})
	p = p.placed()
	if p.Text != "Look at it again. Currency must be PHP." || len(p.Fields) != 2 {
		t.Errorf("the problems are %+v", p)
	}
	if links := p.Summary(); len(links) != 2 || links[0].ID != "mode" || links[1].ID != "the-name" {
		t.Errorf("the summary is %+v", links)
	}
}
