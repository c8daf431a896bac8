package browsertest

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// PrintedPages prints the page and returns how many sheets that takes.
func (p *Page) PrintedPages() (sheets int) {
	p.t.Helper()
	p.until("print", func(ctx context.Context) error {
		printed, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{})
		if err != nil {
			p.fail("print", err)
		}
		sheets = bytes.Count(printed.Data, []byte("/Type /Page\n"))
		return nil
	})
	return sheets
}

// InPrint calls look while the page is shown as printed in a color scheme, and then
// restores it.
func (p *Page) InPrint(scheme string, look func()) {
	p.t.Helper()
	err := p.within(func(ctx context.Context) error {
		return call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	})
	if err == nil {
		look()
		if os.Getenv("BURSAR_SCREENSHOTS") != "" {
			err = p.within(func(ctx context.Context) error {
				_, err := shoot(ctx, "printed-"+p.t.Name()+"-"+scheme)
				return err
			})
		}
	}
	if err = errors.Join(err, p.within(func(ctx context.Context) error { return emulateScheme(ctx, p.settings.scheme) })); err != nil {
		p.fail("look at the page in print", err)
	}
}
