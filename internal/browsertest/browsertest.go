// Package browsertest drives a real Chromium for a test. Each page has its own cookies. A
// test fails without any assertion if a user would find the page broken. That is an error
// in the console, an exception, a failed request, or a violation of the content security policy.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"bursar/internal/wait"
)

// Main runs the tests of a package and stops the browser, if one was started.
// A package that uses Open calls it from TestMain and exits with what it returns.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop Chromium:", err)
		code = max(code, 1)
	}
	return code
}

type settings struct {
	width, height int
	scheme        string
	zone          string
	language      string
	noScripts     bool
}

// Option changes how a page is opened.
type Option func(*settings)

// WithoutScripts turns the scripts of the pages off. Eval still works.
func WithoutScripts() Option { return func(s *settings) { s.noScripts = true } }

// Viewport sets the size of the page. Without it, it is 1280 by 800.
func Viewport(width, height int) Option {
	return func(s *settings) { s.width, s.height = width, height }
}

// Phone is the viewport of a small phone.
func Phone() Option { return Viewport(375, 812) }

// Dark is a user who prefers dark colors.
func Dark() Option { return func(s *settings) { s.scheme = "dark" } }

// Zone is the user's time zone, such as "Asia/Manila". Without it, it is UTC.
func Zone(name string) Option { return func(s *settings) { s.zone = name } }

// Language is the language of the user's browser, such as "de-DE". Without it, it is
// American English.
func Language(tag string) Option { return func(s *settings) { s.language = tag } }

// Open opens a blank page in a new browser profile and closes it at the end of the test.
// Motion is reduced, so that the test does not see an animation halfway. The page must be
// closed before its server stops, so start the server first.
func Open(t testing.TB, options ...Option) *Page {
	t.Helper()
	s := settings{width: 1280, height: 800, scheme: "light", zone: "UTC"}
	for _, option := range options {
		option(&s)
	}
	shared := started(t)
	downloads := t.TempDir() // it is created before the cleanup below is registered, so that it is removed after it ran
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	p := &Page{t: t, ctx: ctx, settings: s, downloads: downloads, limit: wait.Limit()}
	if err := p.attach(); err != nil {
		cancel()
		t.Fatalf("open a page: %v", err)
	}
	t.Cleanup(func() {
		p.flush()
		cancel()
		p.watchers.Wait()
		for _, fault := range p.faults.unexpected() {
			t.Errorf("browser: %s", fault)
		}
	})
	return p
}

// attach creates the tab, subscribes to its events and applies the settings.
func (p *Page) attach() error {
	if err := chromedp.Do(p.ctx); err != nil { // without a deadline, because the tab would keep it
		return err
	}
	tab := chromedp.FromContext(p.ctx)
	p.frame = cdp.FrameID(tab.Target.TargetID)
	p.watch(tab.Target)
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	yes := true
	calls := []func() error{
		func() error { return call(ctx, audits.Enable, cdp.Empty{}) },
		func() error {
			return call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		},
		func() error {
			return call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: p.settings.zone})
		},
		func() error {
			if p.settings.language == "" {
				return nil
			}
			return call(ctx, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: p.settings.language})
		},
		func() error { return p.emulateScripts(ctx, !p.settings.noScripts) },
		func() error { return emulateViewport(ctx, p.settings.width, p.settings.height) },
		func() error { return emulateScheme(ctx, p.settings.scheme) },
		func() error {
			// A headless browser cannot ask whether a page may copy.
			_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
				Permission: &browser.PermissionDescriptor{Name: "clipboard-write"}, Setting: browser.PermissionSettingGranted, BrowserContextID: tab.BrowserContextID,
			})
			return err
		},
		func() error {
			_, err := chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
				Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: tab.BrowserContextID,
				DownloadPath: p.downloads, EventsEnabled: &yes,
			})
			return err
		},
	}
	for _, set := range calls {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) emulateScripts(ctx context.Context, on bool) error {
	return call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

func emulateViewport(ctx context.Context, width, height int) error {
	const widestPhone = 480
	return call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: int64(height), DeviceScaleFactor: 1, Mobile: width <= widestPhone,
	})
}

func emulateScheme(ctx context.Context, scheme string) error {
	return call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// call runs a command of the DevTools protocol and ignores its result.
func call[P, R any](ctx context.Context, command cdp.Command[P, R], params P) error {
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		return fmt.Errorf("%s: %w", command.Method, err)
	}
	return nil
}
