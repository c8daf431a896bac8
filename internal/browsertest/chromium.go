package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// ErrNotInstalled is returned if no Chromium was found.
var ErrNotInstalled = errors.New("no Chromium is installed")

// shared is the browser that all pages of a test process share, because starting a
// browser takes half a second and opening a page only milliseconds. Stop ends it.
var shared struct {
	once    sync.Once
	ctx     context.Context
	release context.CancelFunc
	err     error
}

// Find returns the path of Chromium: BURSAR_CHROMIUM, or its usual location.
func Find() (string, error) {
	if path := os.Getenv("BURSAR_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{
		// Chromium without its own windows and menus takes about a quarter less time for the tests.
		"chromium-headless-shell",
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/usr/lib/chromium/chromium",
		"/snap/bin/chromium",
		"/opt/google/chrome/chrome",
		"/opt/homebrew/bin/chromium",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNotInstalled
}

// started returns the context of the running browser and starts the browser if needed. If
// Chromium is not installed, the test is skipped, except in CI, where it fails.
func started(t testing.TB) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("short mode leaves the browser out")
	}
	shared.once.Do(func() { shared.ctx, shared.release, shared.err = start() })
	if errors.Is(shared.err, ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip("Chromium is not installed: 'make test' installs it where it can")
	}
	if shared.err != nil {
		t.Fatalf("start Chromium: %v", shared.err)
	}
	return shared.ctx
}

// withoutFeatures are the features of Chromium that are turned off.
var withoutFeatures = []string{
	"Translate", "MediaRouter", "OptimizationHints",
	// A page from this cache has no load event to wait for.
	"BackForwardCache",
	// Otherwise, for every page, Chromium would render the invisible suggestions below
	// its address bar in a separate process.
	"WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "AiModeOmniboxEntryPoint", "PreloadTopChromeWebUI",
}

// start runs a headless browser with its own profile. The browser ends together with this
// process, even if the process is killed.
func start() (context.Context, context.CancelFunc, error) {
	path, err := Find()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("no-sandbox", os.Getuid() == 0), // Chromium refuses to run as root with its sandbox
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("mute-audio", true),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("disable-features", strings.Join(withoutFeatures, ",")),
	)
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop := func() { cancel(); release() }
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, stop, nil
}

// Stop ends the browser, if one was started, and removes its profile. All pages must be
// closed before.
func Stop() error {
	if shared.release == nil {
		return nil
	}
	err := chromedp.Cancel(shared.ctx)
	shared.release()
	return err
}
