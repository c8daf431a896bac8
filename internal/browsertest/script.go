package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/rogpeppe/go-internal/testscript"
)

// ScriptCommand is a command of testscript.
type ScriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// pageCommand is a command that acts on the page that a script has open.
type pageCommand struct {
	usage string
	run   func(p *Page, c scriptCall)
}

// scriptCall is a call of a command in a script.
type scriptCall struct {
	ts   *testscript.TestScript
	neg  bool
	args []string
}

// SELECTOR is a CSS selector, FIELD the label of a field or a selector. WANT is a text with single spaces: an … at its
// beginning or its end stands for any text there.
var pageCommands = []pageCommand{
	// What a person does. Each command waits until it can be done, and for the page to which it leads.
	{"reload", func(p *Page, _ scriptCall) { p.Reload() }},
	{"back", func(p *Page, _ scriptCall) { p.Back() }},
	{"click TEXT", func(p *Page, c scriptCall) { p.ClickText(c.args[0]) }},
	{"clickon SELECTOR", func(p *Page, c scriptCall) { p.Click(c.args[0]) }},
	{"fill FIELD TEXT", func(p *Page, c scriptCall) { p.Fill(c.args[0], c.args[1]) }},
	{"choose FIELD OPTION", func(p *Page, c scriptCall) { p.Select(c.args[0], c.args[1]) }},
	{"check LABEL", func(p *Page, c scriptCall) { p.Check(c.args[0]) }},
	{"uncheck LABEL", func(p *Page, c scriptCall) { p.Uncheck(c.args[0]) }},
	{"attach SELECTOR FILE", func(p *Page, c scriptCall) { p.Attach(c.args[0], c.ts.MkAbs(c.args[1])) }},
	{"key KEY", func(p *Page, c scriptCall) { p.Press(c.args[0]) }},
	{"tabto SELECTOR", scriptTabTo},
	{"download NAME TEXT", scriptDownload},
	{"phone", func(p *Page, _ scriptCall) { p.SetViewport(375, 812) }},
	{"desktop", func(p *Page, _ scriptCall) { p.SetViewport(1280, 800) }},
	{"authenticator", func(p *Page, _ scriptCall) { p.AddAuthenticator() }},

	// What they see. Each command waits until it is so.
	{"[!] see TEXT", func(p *Page, c scriptCall) { p.waitText(c.args[0], !c.neg) }},
	{"[!] at PART", func(p *Page, c scriptCall) { p.wait("look at the address for "+c.args[0], !c.neg, "at", c.args[0]) }},
	{"[!] has SELECTOR", func(p *Page, c scriptCall) { p.wait("look for "+c.args[0], !c.neg, "has", c.args[0]) }},
	{"text SELECTOR WANT", func(p *Page, c scriptCall) { p.waitRead("textOf", c.args[0], c.args[1]) }},
	{"texts SELECTOR [WANT…]", scriptTexts},
	{"value FIELD WANT", func(p *Page, c scriptCall) { p.waitRead("valueOf", c.args[0], c.args[1]) }},
	{"[!] visible SELECTOR", scriptVisible},
	{"[!] html TEXT", scriptHTML},
	{"focus SELECTOR", scriptFocus},
	{"narrow", scriptNarrow},
	{"axe NAME", func(p *Page, c scriptCall) { p.Accessible(c.args[0]) }},
	{"shoot NAME", func(p *Page, c scriptCall) { p.Shoot(c.args[0]) }},

	// What a script keeps, demands of a page by an expression, or expects to go wrong.
	{"keep VARIABLE text|value|url [SELECTOR]", scriptKeep},
	{"eval EXPRESSION [JSON]", scriptEval},
	{"expect STATUS", scriptExpect},
	{"allow TEXT", func(p *Page, c scriptCall) { p.Allow(c.args[0]) }},
}

// ScriptCommands returns the commands that act on a page. run calls its argument with the page that a script has open.
func ScriptCommands(run func(ts *testscript.TestScript, act func(p *Page))) map[string]ScriptCommand {
	commands := map[string]ScriptCommand{}
	for _, c := range pageCommands {
		name, command := Checked(c.usage, func(ts *testscript.TestScript, neg bool, args []string) {
			run(ts, func(p *Page) { c.run(p, scriptCall{ts, neg, args}) })
		})
		commands[name] = command
	}
	return commands
}

// Checked returns the name of a command, and the command with a check that it is called as its usage says. A usage that begins
// with [!] can be negated. Arguments in brackets can be left out, and one that ends with … can be repeated.
func Checked(usage string, command ScriptCommand) (string, ScriptCommand) {
	line, negatable := strings.CutPrefix(usage, "[!] ")
	words := strings.Fields(line)
	most := len(words) - 1
	least := most - strings.Count(line, " [")
	if strings.Contains(line, "…") {
		most = math.MaxInt
	}
	return words[0], func(ts *testscript.TestScript, neg bool, args []string) {
		if neg && !negatable || len(args) < least || len(args) > most {
			ts.Fatalf("usage: %s", usage)
		}
		command(ts, neg, args)
	}
}

// fits reports whether a text is as wanted.
func fits(got, want string) bool {
	if rest, ok := strings.CutPrefix(want, "…"); ok {
		if inner, ok := strings.CutSuffix(rest, "…"); ok {
			return strings.Contains(got, inner)
		}
		return strings.HasSuffix(got, rest)
	}
	if start, ok := strings.CutSuffix(want, "…"); ok {
		return strings.HasPrefix(got, start)
	}
	return got == want
}

// waitRead waits until a function of finders.js finds the wanted text.
func (p *Page) waitRead(finder, name, want string) {
	p.t.Helper()
	p.until("read "+strconv.Quote(name), func(ctx context.Context) error {
		var found struct{ Missing, Value string }
		if err := p.find(ctx, &found, finder, name); err != nil {
			return err
		}
		if found.Missing != "" {
			return errNotYet(found.Missing)
		}
		if !fits(found.Value, want) {
			return fmt.Errorf("it is %q, want %q", found.Value, want)
		}
		return nil
	})
}

func scriptTexts(p *Page, c scriptCall) {
	p.until("read all "+c.args[0], func(ctx context.Context) error {
		var found []string
		if err := p.find(ctx, &found, "textsOf", c.args[0]); err != nil {
			return err
		}
		if !slices.EqualFunc(found, c.args[1:], fits) {
			return fmt.Errorf("they are %q, want %q", found, c.args[1:])
		}
		return nil
	})
}

func scriptTabTo(p *Page, c scriptCall) {
	if !p.KeyboardReaches(c.args[0]) || !p.FocusShows() {
		p.fail("reach "+c.args[0]+" by keyboard", errors.New("it cannot be reached, or does not show that it has the focus"))
	}
}

func scriptVisible(p *Page, c scriptCall) {
	p.demand("document.querySelector("+strconv.Quote(c.args[0])+").checkVisibility()", strconv.FormatBool(!c.neg))
}

// scriptHTML looks for a text in the page with all that a person does not see.
func scriptHTML(p *Page, c scriptCall) {
	p.demand("document.documentElement.outerHTML.includes("+strconv.Quote(c.args[0])+")", strconv.FormatBool(!c.neg))
}

func scriptFocus(p *Page, c scriptCall) {
	p.until("wait for the focus on "+c.args[0], func(ctx context.Context) error {
		var at struct{ Meant bool }
		if err := p.find(ctx, &at, "focus", c.args[0]); err != nil || at.Meant {
			return err
		}
		return errNotYet("it is elsewhere")
	})
}

// scriptDownload clicks, demands the name of the file, in which * stands for any text, and keeps the file as "downloaded".
func scriptDownload(p *Page, c scriptCall) {
	name, data := p.DownloadBy(func() { p.ClickText(c.args[1]) })
	if ok, err := path.Match(c.args[0], name); err != nil || !ok {
		c.ts.Fatalf("the file is called %s, want %s", name, c.args[0])
	}
	c.ts.Check(os.WriteFile(c.ts.MkAbs("downloaded"), data, 0o600))
}

// scriptNarrow demands that the page is no wider than a phone.
func scriptNarrow(p *Page, c scriptCall) {
	var wide int
	width, height := p.settings.width, p.settings.height
	p.SetViewport(375, 812)
	p.Eval("document.documentElement.scrollWidth", &wide)
	p.SetViewport(width, height)
	if wide > 375 {
		p.fail("fit a phone", fmt.Errorf("the page is %d wide", wide))
	}
}

func scriptKeep(p *Page, c scriptCall) {
	switch {
	case c.args[1] == "url" && len(c.args) == 2:
		c.ts.Setenv(c.args[0], p.URL())
	case c.args[1] == "text" && len(c.args) == 3:
		c.ts.Setenv(c.args[0], p.Text(c.args[2]))
	case c.args[1] == "value" && len(c.args) == 3:
		c.ts.Setenv(c.args[0], p.Value(c.args[2]))
	default:
		c.ts.Fatalf("usage: keep VARIABLE text|value|url [SELECTOR]")
	}
}

func scriptEval(p *Page, c scriptCall) {
	if len(c.args) == 1 {
		p.Eval(c.args[0], nil)
		return
	}
	p.demand(c.args[0], c.args[1])
}

// demand waits until an expression has a value, which is given as JSON.
func (p *Page) demand(expression, want string) {
	p.t.Helper()
	p.until("evaluate "+short(expression), func(ctx context.Context) error {
		var got json.RawMessage
		if err := p.evaluate(ctx, expression, &got, chromedp.EvalAwaitPromise); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := json.Compact(&text, got); err != nil || text.String() != want {
			return fmt.Errorf("it is %s, want %s", got, want)
		}
		return nil
	})
}

func scriptExpect(p *Page, c scriptCall) {
	status, err := strconv.Atoi(c.args[0])
	c.ts.Check(err)
	p.ExpectStatus(status)
}
