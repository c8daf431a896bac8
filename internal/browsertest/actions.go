package browsertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Goto opens an address and waits until it is loaded.
func (p *Page) Goto(url string) {
	p.t.Helper()
	p.navigate("go to "+url, func(ctx context.Context) (bool, error) {
		went, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: url})
		if err == nil && went.ErrorText != "" && !went.IsDownload {
			err = errors.New(went.ErrorText)
		}
		return went.LoaderID != "", err
	})
}

// Reload loads the page again.
func (p *Page) Reload() {
	p.t.Helper()
	p.navigate("reload", func(ctx context.Context) (bool, error) {
		return true, call(ctx, page.Reload, page.ReloadParams{})
	})
}

// Back goes back to the previous page.
func (p *Page) Back() {
	p.t.Helper()
	p.navigate("go back", func(ctx context.Context) (bool, error) {
		// The browser refuses both calls for a moment while it replaces one page with another.
		var entry *page.NavigationEntry
		err := poll(ctx, func(ctx context.Context) error {
			history, err := chromedp.Call(ctx, page.GetNavigationHistory, cdp.Empty{})
			if err != nil {
				return err
			}
			if history.CurrentIndex < 1 {
				return errors.New("there is no page before this one")
			}
			entry = history.Entries[history.CurrentIndex-1]
			return call(ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: entry.ID})
		})
		if err != nil {
			return false, err
		}
		// The call returns before the browser has gone back, and a page that it kept in memory
		// starts no load that could be waited for.
		return false, poll(ctx, func(ctx context.Context) error {
			history, err := chromedp.Call(ctx, page.GetNavigationHistory, cdp.Empty{})
			if err != nil {
				return err
			}
			if history.Entries[history.CurrentIndex].ID != entry.ID {
				return errNotYet("the browser has not gone back")
			}
			return nil
		})
	})
}

// navigate runs a command that leads to a page and waits until the page is loaded. The
// command returns whether it is certain to load another document. A link within the same
// page does not load one, and waiting for it would never end.
func (p *Page) navigate(what string, run func(ctx context.Context) (bool, error)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	before := p.navigation.starts()
	comes, err := run(ctx)
	switch {
	case err != nil:
	case comes:
		err = p.navigation.beyond(ctx, before)
	default:
		err = p.navigation.settle(ctx)
	}
	if err != nil {
		p.fail(what, err)
	}
}

// spot is the result of finders.js for an element to act on.
type spot struct {
	Missing string  // why it cannot be acted on
	Done    bool    // there is nothing left to do
	Leaves  bool    // a click on it leads to another document
	X, Y    float64 // where to click it
}

func (p *Page) locate(ctx context.Context, function string, args ...any) (spot, error) {
	var at spot
	if err := p.find(ctx, &at, function, args...); err != nil {
		return spot{}, err
	}
	if at.Missing != "" {
		return spot{}, errNotYet(at.Missing)
	}
	return at, nil
}

// Click clicks the first visible element that a CSS selector finds, once it is
// visible, enabled, at rest and not covered. It waits for the page that the
// click leads to.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.click("click "+selector, "targetOf", selector)
}

// ClickText clicks the button or link with this name. If none has exactly this name, it
// clicks one whose name contains it. While a modal dialog is open, only the dialog is
// searched, because a user cannot click anything else.
func (p *Page) ClickText(text string) {
	p.t.Helper()
	p.click("click "+strconv.Quote(text), "targetOfText", text)
}

// Check ticks the box or radio button with this label.
func (p *Page) Check(label string) {
	p.t.Helper()
	p.click("check "+strconv.Quote(label), "toggle", label, true)
}

// Uncheck clears the box with this label.
func (p *Page) Uncheck(label string) {
	p.t.Helper()
	p.click("uncheck "+strconv.Quote(label), "toggle", label, false)
}

func (p *Page) click(what, finder string, args ...any) {
	p.t.Helper()
	p.until(what, func(ctx context.Context) error {
		at, err := p.resting(ctx, finder, args...)
		if err != nil || at.Done {
			return err
		}
		before := p.navigation.starts()
		if err := chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y)); err != nil {
			p.fail(what, err) // the click may have taken effect, so it must not be repeated
		}
		if !at.Leaves {
			return nil
		}
		var missed bool
		if err := p.find(ctx, &missed, "missed"); err == nil && missed {
			return errNotYet("it moved away before the click")
		}
		p.follow(ctx, what, before)
		return nil
	})
}

// resting finds an element and waits until it is in the same place twice in a row, because
// a click on a moving element may miss it.
func (p *Page) resting(ctx context.Context, finder string, args ...any) (spot, error) {
	var last spot
	err := poll(ctx, func(ctx context.Context) error {
		now, err := p.locate(ctx, finder, args...)
		if err != nil {
			return err
		}
		moved := now != last
		last = now
		if moved && !now.Done {
			return errNotYet("it moves")
		}
		return nil
	})
	return last, err
}

// follow waits for the page that a click leads to, unless a script prevented that.
func (p *Page) follow(ctx context.Context, what string, before int) {
	p.t.Helper()
	var prevented bool
	if err := p.find(ctx, &prevented, "prevented"); err == nil && prevented {
		return
	}
	if err := p.navigation.beyond(ctx, before); err != nil {
		p.fail(what, fmt.Errorf("follow it: %w", err))
	}
}

// Fill replaces the content of a field with a text. The field is the one with this label,
// or otherwise the one that the label matches as a CSS selector.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	p.until("fill "+strconv.Quote(label), func(ctx context.Context) error {
		at, err := p.locate(ctx, "focusField", label, text)
		switch {
		case err != nil:
			return err
		case at.Done:
		case text == "":
			err = chromedp.Do(ctx, chromedp.KeyEvent(kb.Backspace))
		default:
			err = call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		}
		if err != nil {
			return err
		}
		_, err = p.locate(ctx, "filled", label, text)
		return err
	})
}

// Select chooses an option of the select with this label.
func (p *Page) Select(label, option string) {
	p.t.Helper()
	p.until("select "+strconv.Quote(option)+" of "+strconv.Quote(label), func(ctx context.Context) error {
		_, err := p.locate(ctx, "choose", label, option)
		return err
	})
}

// WaitText waits until the page shows a text, as a user sees it.
func (p *Page) WaitText(text string) { p.t.Helper(); p.waitText(text, true) }

// WaitGone waits until the page does not show a text.
func (p *Page) WaitGone(text string) { p.t.Helper(); p.waitText(text, false) }

func (p *Page) waitText(text string, wanted bool) {
	p.t.Helper()
	what := "wait for the text "
	if !wanted {
		what = "wait for the end of the text "
	}
	p.wait(what+strconv.Quote(text), wanted, "shows", text)
}

// WaitURL waits until the page's URL contains a text.
func (p *Page) WaitURL(part string) {
	p.t.Helper()
	p.wait("wait for the address "+strconv.Quote(part), true, "at", part)
}

// WaitNone waits until no element matches a selector.
func (p *Page) WaitNone(selector string) {
	p.t.Helper()
	p.wait("wait for the end of "+selector, false, "has", selector)
}

// wait waits until a function of finders.js returns the wanted value.
func (p *Page) wait(what string, wanted bool, finder string, args ...any) {
	p.t.Helper()
	p.until(what, func(ctx context.Context) error {
		var is bool
		if err := p.find(ctx, &is, finder, args...); err != nil {
			return err
		}
		if is != wanted {
			return errNotYet("it is not so")
		}
		return nil
	})
}

// SetViewport changes the size of the page.
func (p *Page) SetViewport(width, height int) {
	p.t.Helper()
	if err := p.within(func(ctx context.Context) error { return errors.Join(emulateViewport(ctx, width, height), p.drawn(ctx)) }); err != nil {
		p.fail("set the viewport", err)
	}
	p.settings.width, p.settings.height = width, height
}

// SetScheme changes the colors that the user prefers: "light" or "dark".
func (p *Page) SetScheme(scheme string) {
	p.t.Helper()
	if err := p.within(func(ctx context.Context) error { return errors.Join(emulateScheme(ctx, scheme), p.drawn(ctx)) }); err != nil {
		p.fail("set the scheme", err)
	}
	p.settings.scheme = scheme
}

func (p *Page) within(run func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	return run(ctx)
}

// Attach chooses a file in the input that a CSS selector finds.
func (p *Page) Attach(selector, file string) {
	p.t.Helper()
	p.until("attach a file to "+selector, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.SetUploadFiles(selector, []string{file}))
	})
}
