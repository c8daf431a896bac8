package browsertest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// Text returns the visible text of the first element that a CSS selector matches.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return p.read("read "+selector, "textOf", selector)
}

// Value returns the value of the field with this label, or otherwise of the field that
// the label matches as a CSS selector.
func (p *Page) Value(label string) string {
	p.t.Helper()
	return p.read("read the field "+strconv.Quote(label), "valueOf", label)
}

func (p *Page) read(what, finder, name string) string {
	p.t.Helper()
	var found struct{ Missing, Value string }
	p.until(what, func(ctx context.Context) error {
		found.Missing = ""
		if err := p.find(ctx, &found, finder, name); err != nil {
			return err
		}
		if found.Missing != "" {
			return errNotYet(found.Missing)
		}
		return nil
	})
	return found.Value
}

// Texts returns the visible texts of all elements that a CSS selector matches, without
// waiting for any.
func (p *Page) Texts(selector string) []string {
	p.t.Helper()
	var texts []string
	p.until("read all "+selector, func(ctx context.Context) error {
		texts = nil
		return p.find(ctx, &texts, "textsOf", selector)
	})
	return texts
}

// Has reports whether a CSS selector matches an element, without waiting for one.
func (p *Page) Has(selector string) bool {
	p.t.Helper()
	var has bool
	p.until("look for "+selector, func(ctx context.Context) error {
		return p.find(ctx, &has, "has", selector)
	})
	return has
}

// URL returns the address of the page.
func (p *Page) URL() string {
	p.t.Helper()
	var url string
	p.until("read the address", func(ctx context.Context) error { return p.evaluate(ctx, "document.URL", &url) })
	return url
}

// Cookies returns all cookies of this user.
func (p *Page) Cookies() []*http.Cookie {
	p.t.Helper()
	var cookies []*http.Cookie
	err := p.within(func(ctx context.Context) error {
		tab := chromedp.FromContext(p.ctx)
		jar, err := chromedp.CallBrowser(ctx, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: tab.BrowserContextID})
		for _, cookie := range jar.Cookies {
			cookies = append(cookies, ordinary(cookie))
		}
		return err
	})
	if err != nil {
		p.fail("read the cookies", err)
	}
	return cookies
}

func ordinary(c *network.Cookie) *http.Cookie {
	cookie := &http.Cookie{
		Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, HttpOnly: c.HTTPOnly, Secure: c.Secure,
		SameSite: map[network.CookieSameSite]http.SameSite{
			network.CookieSameSiteStrict: http.SameSiteStrictMode,
			network.CookieSameSiteLax:    http.SameSiteLaxMode,
			network.CookieSameSiteNone:   http.SameSiteNoneMode,
		}[c.SameSite],
	}
	if !c.Session {
		cookie.Expires = time.Unix(int64(c.Expires), 0)
	}
	return cookie
}
