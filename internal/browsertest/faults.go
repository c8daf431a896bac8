package browsertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// fault is an event in a tab that a user would find broken.
type fault struct {
	text     string
	url      string
	document int64 // the status of a page, if it is the fault
}

func (f fault) String() string { return f.text + " at " + cmp.Or(f.url, "an unknown place") }

type request struct{ url, document string }

// faults collects the faults of a tab.
type faults struct {
	mu       sync.Mutex
	list     []fault
	failures []network.EventLoadingFailed
	requests map[network.RequestID]request
	pages    map[network.RequestID]bool // the requests for the page itself
	loads    []log.Entry                // the console's own lines about failed requests
	allowed  []string
	statuses []int64
}

// Allow ignores errors that contain a text, including those that have already happened.
func (p *Page) Allow(text string) {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.allowed = append(p.faults.allowed, text)
}

// ExpectStatus allows pages to respond with this status, which would otherwise fail the
// test if it is 400 or higher.
func (p *Page) ExpectStatus(status int) {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.statuses = append(p.faults.statuses, int64(status))
}

func (f *faults) add(one fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, one)
}

func (f *faults) console(e runtime.EventConsoleAPICalled) {
	if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeAssert {
		return
	}
	parts := []string{"console." + string(e.Type) + ":"}
	for _, arg := range e.Args {
		text := arg.Description
		if len(arg.Value) > 0 {
			text = string(arg.Value)
			if plain := ""; json.Unmarshal(arg.Value, &plain) == nil {
				text = plain
			}
		}
		parts = append(parts, text)
	}
	f.add(fault{text: strings.Join(parts, " "), url: place(e.StackTrace)})
}

func (f *faults) exception(e runtime.EventExceptionThrown) {
	details := e.ExceptionDetails
	text := details.Text
	if details.Exception != nil {
		text += " " + cmp.Or(details.Exception.Description, string(details.Exception.Value))
	}
	f.add(fault{text: "exception: " + text, url: cmp.Or(details.URL, place(details.StackTrace))})
}

func place(stack *runtime.StackTrace) string {
	if stack == nil || len(stack.CallFrames) == 0 {
		return ""
	}
	at := stack.CallFrames[0]
	return fmt.Sprintf("%s:%d", at.URL, at.LineNumber+1)
}

func (f *faults) entry(e log.EventEntryAdded) {
	switch {
	case e.Entry.Level != log.EntryLevelError:
	case e.Entry.Source == log.EntrySourceNetwork && e.Entry.NetworkRequestID != "":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.loads = append(f.loads, *e.Entry)
	default:
		f.add(fault{text: string(e.Entry.Source) + ": " + e.Entry.Text, url: e.Entry.URL})
	}
}

func (f *faults) issue(e audits.EventIssueAdded) {
	if e.Issue.Details == nil || e.Issue.Details.ContentSecurityPolicyIssueDetails == nil {
		return
	}
	csp := e.Issue.Details.ContentSecurityPolicyIssueDetails
	text := fmt.Sprintf("content security policy: %s (%s)", csp.ViolatedDirective, csp.ContentSecurityPolicyViolationType)
	if csp.BlockedURL != "" {
		text += " blocks " + csp.BlockedURL
	}
	at := ""
	if source := csp.SourceCodeLocation; source != nil {
		at = source.URL + ":" + strconv.FormatInt(source.LineNumber+1, 10)
	}
	f.add(fault{text: text, url: at})
}

func (f *faults) dialog(e page.EventJavascriptDialogOpening) {
	f.add(fault{text: string(e.Type) + " dialog: " + e.Message, url: e.URL})
}

func (f *faults) request(e network.EventRequestWillBeSent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requests == nil {
		f.requests = map[network.RequestID]request{}
	}
	f.requests[e.RequestID] = request{url: e.Request.URL, document: e.DocumentURL}
}

func (f *faults) failed(e network.EventLoadingFailed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, e)
}

// response records responses with an error status. main means that the response is the
// page itself and not a document in one of its frames.
func (f *faults) response(e network.EventResponseReceived, main bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := e.Response.Status
	if main {
		if f.pages == nil {
			f.pages = map[network.RequestID]bool{}
		}
		f.pages[e.RequestID] = true
	}
	switch {
	case main && status >= 400:
		f.list = append(f.list, fault{text: fmt.Sprintf("the page answered %d", status), url: e.Response.URL, document: status})
	case status >= 500:
		f.list = append(f.list, fault{text: fmt.Sprintf("a request was answered %d", status), url: e.Response.URL})
	}
}

// unexpected lists all faults that the test did not expect. It combines several kinds of
// events only here, at the end, because they arrive in no fixed order.
func (f *faults) unexpected() []fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.list)
	for _, e := range f.failures {
		sent := f.requests[e.RequestID]
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" && e.BlockedReason == "" && sameOrigin(sent) {
			all = append(all, fault{text: "a request failed: " + e.ErrorText, url: sent.url})
		}
	}
	for _, e := range f.loads {
		if !f.pages[e.NetworkRequestID] {
			all = append(all, fault{text: e.Text, url: e.URL})
		}
	}
	told := map[fault]bool{}
	return slices.DeleteFunc(all, func(one fault) bool {
		again := told[one]
		told[one] = true
		return again || one.document != 0 && slices.Contains(f.statuses, one.document) ||
			slices.ContainsFunc(f.allowed, func(text string) bool { return strings.Contains(one.String(), text) })
	})
}

func sameOrigin(sent request) bool {
	to, err := url.Parse(sent.url)
	from, errFrom := url.Parse(sent.document)
	return err == nil && errFrom == nil && to.Scheme == from.Scheme && to.Host == from.Host
}
