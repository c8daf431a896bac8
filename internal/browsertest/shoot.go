package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Shoot writes pictures of the whole page, as wide as a phone and as a desktop screen,
// light and dark: <name>-<width>-<scheme>.png in $BURSAR_SCREENSHOTS, which make
// screenshots sets. It does nothing without that variable: the pictures are for people,
// and take a quarter of the time of a test.
func (p *Page) Shoot(name string) {
	p.t.Helper()
	if os.Getenv("BURSAR_SCREENSHOTS") == "" {
		return
	}
	p.until("shoot "+name, func(ctx context.Context) error {
		err := p.shootAll(ctx, name)
		restored := errors.Join(
			emulateViewport(ctx, p.settings.width, p.settings.height),
			emulateScheme(ctx, p.settings.scheme),
			p.drawn(ctx),
		)
		if err := errors.Join(err, restored); err != nil {
			p.fail("shoot "+name, err)
		}
		return nil
	})
}

// drawn waits until the page is drawn in its current size and colors. An earlier click
// would land at old positions, and an earlier picture would mix both states.
func (p *Page) drawn(ctx context.Context) error {
	if p.settings.noScripts {
		return nil
	}
	return p.evaluate(ctx, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, new(bool), chromedp.EvalAwaitPromise)
}

func (p *Page) shootAll(ctx context.Context, name string) error {
	if err := p.evaluate(ctx, `scrollTo(0, 0)`, nil); err != nil { // otherwise the sticky header would be in the middle of the picture
		return err
	}
	for _, size := range []struct{ width, height int }{{375, 812}, {1440, 900}} {
		if err := p.unfold(ctx, size.width, size.height); err != nil {
			return err
		}
		for _, scheme := range []string{"light", "dark"} {
			if err := errors.Join(emulateScheme(ctx, scheme), p.drawn(ctx)); err != nil {
				return err
			}
			if _, err := shoot(ctx, fmt.Sprintf("%s-%d-%s", name, size.width, scheme)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfold makes the screen so high that the whole page fits. The browser may not draw the
// part below the fold.
func (p *Page) unfold(ctx context.Context, width, height int) error {
	if err := errors.Join(emulateViewport(ctx, width, height), p.drawn(ctx)); err != nil {
		return err
	}
	layout, err := chromedp.Call(ctx, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return err
	}
	const highest = 8000
	if whole := int(layout.CSSContentSize.Height); whole > height {
		return errors.Join(emulateViewport(ctx, width, min(whole, highest)), p.drawn(ctx))
	}
	return nil
}

// shootFailure writes a picture of the page at the failure of a test.
func (p *Page) shootFailure(ctx context.Context) (string, error) {
	return shoot(ctx, "failed-"+p.t.Name())
}

// shoot writes a picture of the whole page as it is, and returns its path.
func shoot(ctx context.Context, name string) (string, error) {
	dir, err := screenshots()
	if err != nil {
		return "", err
	}
	layout, err := chromedp.Call(ctx, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return "", err
	}
	yes, size := true, layout.CSSContentSize
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &yes, OptimizeForSpeed: &yes,
		Clip: &page.Viewport{Width: size.Width, Height: size.Height, Scale: 1},
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, regexp.MustCompile(`[^\w.-]+`).ReplaceAllString(name, "_")+".png")
	return path, os.WriteFile(path, shot.Data, 0o644)
}

// screenshots returns the folder for pictures: $BURSAR_SCREENSHOTS, or for those of
// failed tests the folder screenshots of the module.
func screenshots() (string, error) {
	dir := os.Getenv("BURSAR_SCREENSHOTS")
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "screenshots")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in any folder above")
		}
		dir = parent
	}
}
