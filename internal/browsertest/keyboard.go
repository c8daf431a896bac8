package browsertest

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func named() map[string]string {
	return map[string]string{
		"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Space": " ", "Backspace": kb.Backspace, "Delete": kb.Delete,
		"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
		"Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
	}
}

// Press presses a key in the focused element: a character, or a name such as "Enter" or
// "ArrowDown", with modifiers as in "Shift+Tab" and "Control+k". If Enter leads to
// another page, it waits for that page.
func (p *Page) Press(key string) {
	p.t.Helper()
	what := "press " + key
	p.until(what, func(ctx context.Context) error {
		var leaves bool
		if key == "Enter" {
			if err := p.find(ctx, &leaves, "enterLeaves"); err != nil {
				return err
			}
		}
		before := p.navigation.starts()
		if err := press(ctx, key); err != nil {
			p.fail(what, err)
		}
		if leaves {
			p.follow(ctx, what, before)
		}
		return nil
	})
}

func press(ctx context.Context, key string) error {
	parts := strings.Split(key, "+")
	modifiers := chromedp.ModifierNone
	for _, name := range parts[:len(parts)-1] {
		modifier, ok := map[string]chromedp.Modifier{
			"Shift": chromedp.ModifierShift, "Control": chromedp.ModifierCtrl,
			"Alt": chromedp.ModifierAlt, "Meta": chromedp.ModifierMeta,
		}[name]
		if !ok {
			return fmt.Errorf("there is no modifier %q", name)
		}
		modifiers |= modifier
	}
	last := parts[len(parts)-1]
	code, ok := named()[last]
	if !ok {
		if utf8.RuneCountInString(last) != 1 {
			return fmt.Errorf("there is no key %q", last)
		}
		code = last
	}
	return chromedp.Do(ctx, chromedp.KeyEvent(code, chromedp.KeyModifiers(modifiers)))
}

// KeyboardReaches presses Tab until an element that the CSS selector matches has the
// focus. It returns false if the focus has gone through the whole page without that.
func (p *Page) KeyboardReaches(selector string) bool {
	p.t.Helper()
	for been := map[int]bool{}; ; {
		p.Press("Tab")
		var at struct {
			Meant bool
			Place int
		}
		p.until("look at the focus", func(ctx context.Context) error { return p.find(ctx, &at, "focus", selector) })
		if at.Meant || been[at.Place] {
			return at.Meant
		}
		been[at.Place] = true
	}
}

// FocusShows reports whether a user can see which element has the focus, by its outline
// or its shadow.
func (p *Page) FocusShows() bool {
	p.t.Helper()
	var shown bool
	p.until("look at the focus", func(ctx context.Context) error { return p.find(ctx, &shown, "focusShown") })
	return shown
}

// WaitFocus waits until the element with an id has the focus. The browser gives it to a
// field with autofocus some time after it shows the page.
func (p *Page) WaitFocus(id string) {
	p.t.Helper()
	p.until("wait for the focus on #"+id, func(ctx context.Context) error {
		var focused string
		if err := p.evaluate(ctx, "document.activeElement?.id ?? ''", &focused); err != nil || focused == id {
			return err
		}
		return fmt.Errorf("the focus is on %q", focused)
	})
}

// Focused returns the HTML of the element with the focus, shortened.
func (p *Page) Focused() string {
	p.t.Helper()
	var html string
	p.until("look at the focus", func(ctx context.Context) error {
		return p.evaluate(ctx, "document.activeElement?.outerHTML.slice(0, 200) ?? ''", &html)
	})
	return html
}
