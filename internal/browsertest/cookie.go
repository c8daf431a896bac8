package browsertest

import (
	"context"
	"net/http"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// SetCookie stores a cookie of the site at a URL in the browser, as if the site had set
// it on an earlier visit.
func (p *Page) SetCookie(url string, cookie *http.Cookie) {
	p.t.Helper()
	err := p.within(func(ctx context.Context) error {
		tab := chromedp.FromContext(p.ctx)
		_, err := chromedp.CallBrowser(ctx, storage.SetCookies, storage.SetCookiesParams{
			Cookies:          []*network.CookieParam{{Name: cookie.Name, Value: cookie.Value, URL: url}},
			BrowserContextID: tab.BrowserContextID,
		})
		return err
	})
	if err != nil {
		p.fail("set a cookie", err)
	}
}
