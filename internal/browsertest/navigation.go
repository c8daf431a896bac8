package browsertest

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// navigation tracks which document the tab is loading. It counts navigations and records
// which of them have ended. The events that report the start and the end of a navigation
// can arrive in any order.
type navigation struct {
	mu     sync.Mutex
	count  int
	latest cdp.LoaderID
	ended  map[cdp.LoaderID]bool // loaded, failed, or turned into a download
}

func (n *navigation) started(e page.EventFrameStartedNavigating) {
	switch e.NavigationType {
	case page.FrameStartedNavigatingNavigationTypeSameDocument,
		page.FrameStartedNavigatingNavigationTypeHistorySameDocument:
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	n.latest = e.LoaderID
}

func (n *navigation) lifecycle(e page.EventLifecycleEvent) {
	if e.Name == "load" {
		n.end(e.LoaderID)
	}
}

func (n *navigation) failed(e network.EventLoadingFailed) {
	if e.Type == network.ResourceTypeDocument {
		n.end(cdp.LoaderID(e.RequestID)) // the request for a document has the same id as its loader
	}
}

func (n *navigation) end(loader cdp.LoaderID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended == nil {
		n.ended = map[cdp.LoaderID]bool{}
	}
	n.ended[loader] = true
}

// starts counts the navigations so far.
func (n *navigation) starts() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// beyond waits until more navigations have started than the given number, and until the
// last of them has ended.
func (n *navigation) beyond(ctx context.Context, starts int) error {
	err := poll(ctx, func(context.Context) error {
		if n.starts() <= starts {
			return errNotYet("no navigation started")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.settle(ctx)
}

// settle waits until the current navigation has ended, if there is one.
func (n *navigation) settle(ctx context.Context) error {
	return poll(ctx, func(context.Context) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.latest != "" && !n.ended[n.latest] {
			return errNotYet("the page is still loading")
		}
		return nil
	})
}
