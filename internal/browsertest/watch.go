package browsertest

import (
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// watch subscribes to the events of the tab until it is closed. Events that happened
// before the subscription are delivered as well.
func (p *Page) watch(tab *chromedp.Target) {
	on(p, tab, runtime.ConsoleAPICalled, p.faults.console)
	on(p, tab, runtime.ExceptionThrown, p.faults.exception)
	on(p, tab, log.EntryAdded, p.faults.entry)
	on(p, tab, audits.IssueAdded, p.faults.issue)
	on(p, tab, network.RequestWillBeSent, p.faults.request)
	on(p, tab, network.ResponseReceived, func(e network.EventResponseReceived) {
		p.faults.response(e, e.Type == network.ResourceTypeDocument && e.FrameID == p.frame)
	})
	on(p, tab, network.LoadingFailed, func(e network.EventLoadingFailed) {
		p.faults.failed(e)
		p.navigation.failed(e)
	})
	on(p, tab, page.FrameStartedNavigating, func(e page.EventFrameStartedNavigating) {
		if e.FrameID == p.frame {
			p.navigation.started(e)
		}
	})
	on(p, tab, page.LifecycleEvent, func(e page.EventLifecycleEvent) {
		if e.FrameID == p.frame {
			p.navigation.lifecycle(e)
		}
	})
	on(p, tab, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) {
		p.faults.dialog(e)
		if err := call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
			p.faults.add(fault{text: "close the dialog: " + err.Error()})
		}
	})
}

// on calls a function for every event of a kind, one at a time.
func on[E any](p *Page, tab *chromedp.Target, kind cdp.Event[E], heard func(E)) {
	events, _ := tab.Subscribe(kind.Method)
	p.watchers.Go(func() {
		for raw := range events {
			var event E
			if err := jsonv2.Unmarshal(raw, &event); err != nil {
				p.faults.add(fault{text: "read " + kind.Method + ": " + err.Error()})
				continue
			}
			heard(event)
		}
	})
}
