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
const runAxe = `((kinds, rules) => axe.run(kinds.length === 0 ? document : {include: kinds.map((kind) => {
	const e = kindsOnPage.get(kind);
	if (!e.isConnected) throw new Error("the page has changed");
	return e.parentElement?.closest("a, button, summary, label, h1, h2, h3, h4, h5, h6, ul, ol, dl, table, select, [role], [aria-hidden]") ?? e;
})}, {
	runOnly: rules,
	resultTypes: ["violations"],
	preload: false,
}).then((found) => found.violations.map((v) => ({
	Rule: v.id, Impact: v.impact ?? "", Help: v.help, Where: v.helpUrl,
	Nodes: v.nodes.map((n) => ({
		Selector: n.target.flat().join(" "), HTML: n.html, Summary: n.failureSummary ?? "",
		Data: n.any.map((check) => check.data).filter((data) => data !== null && data !== undefined),
	})),
}))))(%s, %s)`

// The rules that are checked, by their tags. styleRules are those that depend on the viewport or the scheme alone, not on the
// content of the page.
var (
	allRules   = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}
	styleRules = []string{"color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable", "css-orientation-lock"}
)

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

// outline finds the kinds of elements of the page. Each kind is identified by what axe checks: its place, its classes and roles,
// its label, whether it has text, and whether it is shown. The viewport and scheme are returned separately. So are facts about the
// page as a whole: its path, its headings and landmarks in their order.
const outline = `(() => {
	const kind = (e) => e.tagName + "." + [...e.classList].sort().join(".");
	globalThis.kindsOnPage = new Map();
	for (const e of document.querySelectorAll("*")) {
		const attributes = [...e.attributes]
			.map((a) => a.value === "" ? a.name + " empty" : /^(role|type|scope|tabindex|aria-(hidden|expanded|current|invalid|live))$/.test(a.name) ? a.name + "=" + a.value : a.name)
			.filter((a) => /^(role|type|scope|tabindex|aria-|alt|lang|title|placeholder|disabled|hidden|for$)/.test(a)).sort().join(" ");
		const text = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim() !== "");
		const name = [e.parentElement ? kind(e.parentElement) : "", kind(e), attributes, e.labels?.length ?? "", text, e.getClientRects().length > 0].join("|");
		if (!kindsOnPage.has(name)) kindsOnPage.set(name, e);
	}
	const inOrder = (selector) => selector + ": " + [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length > 0).map(kind).join(" ");
	const names = [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")].flatMap((e) => ["aria-labelledby", "aria-describedby"].flatMap((a) => (e.getAttribute(a) ?? "").split(" ").filter(Boolean)));
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	return {Elements: [...kindsOnPage.keys()], Style: innerWidth + " " + matchMedia("(prefers-color-scheme: dark)").matches, Page: [[
		"page " + location.pathname.replace(/[a-z]+_[0-9A-Za-z]{10,}/g, "ID"),
		inOrder("h1, h2, h3, h4, h5, h6"), inOrder("main, nav, header, footer, aside, section[aria-label], section[aria-labelledby], form[aria-label], [role]"),
		"names lead somewhere: " + names.every((id) => document.getElementById(id)), "ids are unique: " + (new Set(ids).size === ids.length), "titled: " + (document.title !== ""),
	].join("; ")]};
})()`

// checked are the pages, the kinds of elements, and those kinds by viewport and scheme, in which axe has found no violations. axe
// takes a third of a second for a page, and most pages of a test contain only kinds that were checked before.
var checked struct {
	sync.Mutex
	names map[string]bool
}

// unchecked returns the names that were not checked yet.
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

// Accessible fails the test with every violation that axe finds on the page. It checks the page as it is, and again at the size
// of a phone with dark colors, because contrast and layout differ there. On a page that was checked before, it checks only
// elements of new kinds. For kinds that are new only at this size or in these colors, it checks only the rules that depend on
// these.
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
	var kinds struct {
		Elements, Page []string
		Style          string
	}
	var styled []string // kinds.Elements with their style
	var found []violation
	p.until("check that "+name+" is accessible", func(ctx context.Context) error {
		world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: p.frame, WorldName: "axe"})
		if err != nil {
			return err
		}
		// In an isolated world, the page cannot see axe, and the page's content security policy does not block it.
		inside := func(params *runtime.EvaluateParams) { params.ContextID = world.ExecutionContextID }
		if err := p.evaluate(ctx, outline, &kinds, inside); err != nil {
			return err
		}
		byStyle := map[string]string{} // kinds by their names with the style
		styled = nil
		for _, kind := range kinds.Elements {
			name := kinds.Style + "|" + kind
			styled, byStyle[name] = append(styled, name), kind
		}
		var elements []string
		for _, name := range unchecked(styled) {
			elements = append(elements, byStyle[name])
		}
		rules := styleRules
		if len(unchecked(elements)) > 0 {
			rules = allRules
		}
		switch {
		case len(unchecked(kinds.Page)) > 0:
			found, err = p.violations(ctx, nil, allRules, inside)
		case len(elements) > 0:
			found, err = p.violations(ctx, elements, rules, inside)
		}
		return err
	})
	for _, v := range found {
		p.t.Errorf("%s is not accessible: %s", name, v)
	}
	if len(found) == 0 {
		setChecked(kinds.Elements)
		setChecked(styled)
		setChecked(kinds.Page)
	}
}

// violations checks elements of some kinds, or the whole page, by some rules of axe.
func (p *Page) violations(ctx context.Context, kinds, rules []string, inside chromedp.EvaluateOption) (found []violation, err error) {
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
	by, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	err = p.evaluate(ctx, fmt.Sprintf(runAxe, list, by), &found, inside, chromedp.EvalAwaitPromise)
	return found, err
}
