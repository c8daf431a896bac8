package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe/axe-4.14.0.min.js
var axe string

const runAxe = `axe.run(document, {
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	resultTypes: ["violations"],
	preload: false,
}).then((found) => found.violations.map((v) => ({
	Rule: v.id, Impact: v.impact ?? "", Help: v.help, Where: v.helpUrl,
	Nodes: v.nodes.map((n) => ({
		Selector: n.target.flat().join(" "), HTML: n.html, Summary: n.failureSummary ?? "",
		Data: n.any.map((check) => check.data).filter((data) => data !== null && data !== undefined),
	})),
})))`

type violation struct {
	Rule, Impact, Help, Where string
	Nodes                     []struct {
		Selector, HTML, Summary string
		Data                    []json.RawMessage
	}
}

func (v violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s, see %s", v.Rule, v.Impact, v.Help, v.Where)
	for _, node := range v.Nodes {
		fmt.Fprintf(&b, "\n  %s\n    %s\n    %s", node.Selector, node.HTML, strings.ReplaceAll(node.Summary, "\n", "\n    "))
		for _, data := range node.Data {
			fmt.Fprintf(&b, "\n    %s", data)
		}
	}
	return b.String()
}

// Accessible fails the test with every violation that axe finds on the page. It checks
// the page as it is, and again at the size of a phone with dark colours, because contrast
// and layout differ there.
func (p *Page) Accessible(name string) {
	p.t.Helper()
	p.violationFree(name)
	width, height, scheme := p.settings.width, p.settings.height, p.settings.scheme
	p.SetViewport(375, 812)
	p.SetScheme("dark")
	p.violationFree(name + ", on a phone in the dark,")
	p.SetViewport(width, height)
	p.SetScheme(scheme)
}

func (p *Page) violationFree(name string) {
	p.t.Helper()
	var found []violation
	p.until("check that "+name+" is accessible", func(ctx context.Context) error {
		var err error
		found, err = p.violations(ctx)
		return err
	})
	for _, v := range found {
		p.t.Errorf("%s is not accessible: %s", name, v)
	}
}

// violations runs axe in an isolated JavaScript world, so that the page cannot see it and
// the page's content security policy does not block it.
func (p *Page) violations(ctx context.Context) (found []violation, err error) {
	if p.settings.noScripts { // axe uses timers, which do not run while scripts are off
		if err := p.emulateScripts(ctx, true); err != nil {
			return nil, err
		}
		defer func() {
			if off := p.emulateScripts(ctx, false); err == nil {
				err = off
			}
		}()
	}
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: p.frame, WorldName: "axe"})
	if err != nil {
		return nil, err
	}
	inside := func(params *runtime.EvaluateParams) { params.ContextID = world.ExecutionContextID }
	var loaded bool
	if err := p.evaluate(ctx, "typeof axe === 'object'", &loaded, inside); err != nil {
		return nil, err
	}
	if !loaded {
		if err := p.evaluate(ctx, axe+"\n;0", nil, inside); err != nil {
			return nil, fmt.Errorf("load axe: %w", err)
		}
	}
	err = p.evaluate(ctx, runAxe, &found, inside, chromedp.EvalAwaitPromise)
	return found, err
}
