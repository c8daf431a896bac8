package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe/axe-4.14.0.min.js
var axe string

// runAxe checks the whole page, or only the first element of each of the given kinds, with its descendants. Some rules report
// an ancestor: a list about its items, a button about the text in it. So the nearest such ancestor is checked as well.
const runAxe = `((kinds) => axe.run(kinds.length === 0 ? document : {include: kinds.map((kind) => {
	const e = kindsOnPage.get(kind);
	if (!e.isConnected) throw new Error("the page has changed");
	return e.parentElement?.closest("a, button, summary, label, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, select, [role], [aria-hidden]") ?? e;
})}, {
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	resultTypes: ["violations"],
	preload: false,
}).then((found) => found.violations.map((v) => ({
	Rule: v.id, Impact: v.impact ?? "", Help: v.help, Where: v.helpUrl,
	Nodes: v.nodes.map((n) => ({
		Selector: n.target.flat().join(" "), HTML: n.html, Summary: n.failureSummary ?? "",
		Data: n.any.map((check) => check.data).filter((data) => data !== null && data !== undefined),
	})),
}))))(%s)`

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

// outline finds the kinds of elements of the page, each by what axe looks at: the viewport and scheme, its place, its classes and
// roles, how it is labelled, whether it has text, and whether it is shown. Facts about the page as a whole are returned separately: its path, its
// headings and landmarks in their order.
const outline = `(() => {
	const kind = (e) => e.tagName + "." + [...e.classList].sort().join(".");
	const looks = innerWidth + " " + matchMedia("(prefers-color-scheme: dark)").matches;
	globalThis.kindsOnPage = new Map();
	for (const e of document.querySelectorAll("*")) {
		const attributes = [...e.attributes]
			.map((a) => a.value === "" ? a.name + " empty" : /^(role|type|scope|tabindex|aria-(hidden|expanded|current|invalid|live))$/.test(a.name) ? a.name + "=" + a.value : a.name)
			.filter((a) => /^(role|type|scope|tabindex|aria-|alt|lang|title|placeholder|disabled|hidden|for$)/.test(a)).sort().join(" ");
		const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim() !== "");
		const name = [looks, e.parentElement ? kind(e.parentElement) : "", kind(e), attributes, e.labels?.length ?? "", text, e.getClientRects().length > 0].join("|");
		if (!kindsOnPage.has(name)) kindsOnPage.set(name, e);
	}
	const inOrder = (selector) => selector + ": " + [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length > 0).map(kind).join(" ");
	const names = [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")].flatMap((e) => ["aria-labelledby", "aria-describedby"].flatMap((a) => (e.getAttribute(a) ?? "").split(" ").filter(Boolean)));
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	return {Elements: [...kindsOnPage.keys()], Page: [[
		"page " + location.pathname.replace(/[a-z]+_[0-9A-Za-z]{10,}/g, "ID"),
		inOrder("h1, h2, h3, h4, h5, h6"), inOrder("main, nav, header, footer, aside, section[aria-label], section[aria-labelledby], form[aria-label], [role]"),
		"names lead somewhere: " + names.every((id) => document.getElementById(id)), "ids are unique: " + (new Set(ids).size === ids.length), "titled: " + (document.title !== ""),
	].join("; ")]};
})()`

// checked are the pages, and the kinds of elements by viewport and scheme, that axe has found nothing wrong with. It takes a
// third of a second for a page, and most pages of a test have only what others had before.
var checked struct {
	sync.Mutex
	names map[string]bool
}

// unchecked returns those of the names that were not checked yet.
func unchecked(names []string) (found []string) {
	checked.Lock()
	defer checked.Unlock()
	for _, name := range names {
		if !checked.names[name] {
			found = append(found, name)
		}
	}
	return found
}

// setChecked records names without violations.
func setChecked(names []string) {
	checked.Lock()
	defer checked.Unlock()
	if checked.names == nil {
		checked.names = map[string]bool{}
	}
	for _, name := range names {
		checked.names[name] = true
	}
}

// Accessible fails the test with every violation that axe finds on the page. It checks
// the page as it is, and again at the size of a phone with dark colours, because contrast
// and layout differ there. Of a page that was checked before, only elements are checked of kinds that are
// new at this size and in these colours.
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
	var kinds struct{ Elements, Page []string }
	var found []violation
	p.until("check that "+name+" is accessible", func(ctx context.Context) error {
		world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: p.frame, WorldName: "axe"})
		if err != nil {
			return err
		}
		// In a world of its own, the page cannot see axe, and the page's content security policy does not block it.
		inside := func(params *runtime.EvaluateParams) { params.ContextID = world.ExecutionContextID }
		if err := p.evaluate(ctx, outline, &kinds, inside); err != nil {
			return err
		}
		elements := unchecked(kinds.Elements)
		switch {
		case len(unchecked(kinds.Page)) > 0:
			found, err = p.violations(ctx, nil, inside)
		case len(elements) > 0:
			found, err = p.violations(ctx, elements, inside)
		}
		return err
	})
	for _, v := range found {
		p.t.Errorf("%s is not accessible: %s", name, v)
	}
	if len(found) == 0 {
		setChecked(kinds.Elements)
		setChecked(kinds.Page)
	}
}

// violations runs axe on elements of some kinds, or on the whole page.
func (p *Page) violations(ctx context.Context, kinds []string, inside chromedp.EvaluateOption) (found []violation, err error) {
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
	var loaded bool
	if err := p.evaluate(ctx, "typeof axe === 'object'", &loaded, inside); err != nil {
		return nil, err
	}
	if !loaded {
		if err := p.evaluate(ctx, axe+"\n;0", nil, inside); err != nil {
			return nil, fmt.Errorf("load axe: %w", err)
		}
	}
	list, err := json.Marshal(append([]string{}, kinds...)) // [] if there are none
	if err != nil {
		return nil, err
	}
	err = p.evaluate(ctx, fmt.Sprintf(runAxe, list), &found, inside, chromedp.EvalAwaitPromise)
	return found, err
}
