package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// outline lists the kinds of elements of the page, each with what axe looks at: its place, its classes and roles, how it is
// labelled, whether it has text, and whether it is shown. Headings and landmarks are listed in their order.
const outline = `(() => {
	const kind = (e) => e.tagName + "." + [...e.classList].sort().join(".");
	const found = new Set();
	for (const e of document.querySelectorAll("*")) {
		const attributes = [...e.attributes]
			.map((a) => a.value === "" ? a.name + " empty" : /^(role|type|scope|tabindex|aria-(hidden|expanded|current|invalid|live))$/.test(a.name) ? a.name + "=" + a.value : a.name)
			.filter((a) => /^(role|type|scope|tabindex|aria-|alt|lang|title|placeholder|disabled|hidden|for$)/.test(a)).sort().join(" ");
		const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim() !== "");
		found.add([e.parentElement ? kind(e.parentElement) : "", kind(e), attributes, e.labels?.length ?? "", text, e.getClientRects().length > 0].join("|"));
	}
	const inOrder = (selector) => selector + ": " + [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length > 0).map(kind).join(" ");
	found.add(inOrder("h1, h2, h3, h4, h5, h6")).add(inOrder("main, nav, header, footer, aside, section[aria-label], section[aria-labelledby]"));
	const names = [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")].flatMap((e) => ["aria-labelledby", "aria-describedby"].flatMap((a) => (e.getAttribute(a) ?? "").split(" ").filter(Boolean)));
	found.add("names lead somewhere: " + names.every((id) => document.getElementById(id))).add("page " + location.pathname.replace(/[a-z]+_[0-9a-z]{10,}/g, "ID"));
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	found.add("ids are unique: " + (new Set(ids).size === ids.length)).add("titled: " + (document.title !== ""));
	return [...found];
})()`

// checked are the kinds of elements that axe has found nothing wrong with, by viewport and scheme. It takes half a second
// for a page, and most pages of a test have only what others had before.
var checked struct {
	sync.Mutex
	kinds map[string]bool
}

// isNew reports whether a page has something that was not checked yet.
func isNew(kinds []string) bool {
	checked.Lock()
	defer checked.Unlock()
	return slices.ContainsFunc(kinds, func(kind string) bool { return !checked.kinds[kind] })
}

// setChecked notes that a page has no violations.
func setChecked(kinds []string) {
	checked.Lock()
	defer checked.Unlock()
	if checked.kinds == nil {
		checked.kinds = map[string]bool{}
	}
	for _, kind := range kinds {
		checked.kinds[kind] = true
	}
}

// Accessible fails the test with every violation that axe finds on the page. It checks
// the page as it is, and again at the size of a phone with dark colours, because contrast
// and layout differ there. A page that was checked before is checked again only if it has an element of a new kind.
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
	var kinds []string
	var found []violation
	p.until("check that "+name+" is accessible", func(ctx context.Context) error {
		if err := p.evaluate(ctx, outline, &kinds); err != nil {
			return err
		}
		for i := range kinds {
			kinds[i] = fmt.Sprintf("%d %s %s", p.settings.width, p.settings.scheme, kinds[i])
		}
		if !isNew(kinds) {
			return nil
		}
		var err error
		found, err = p.violations(ctx)
		return err
	})
	for _, v := range found {
		p.t.Errorf("%s is not accessible: %s", name, v)
	}
	if len(found) == 0 {
		setChecked(kinds)
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
