package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"bursar/internal/wait"
)

// interval is how long to wait between two checks of a condition.
const interval = 20 * time.Millisecond

// Page is one tab. Its methods wait for what they need, and fail the test if it does not
// appear in time. They may only be called from the goroutine of the test, because they
// end it when they fail.
type Page struct {
	t         testing.TB
	ctx       context.Context
	frame     cdp.FrameID
	settings  settings
	downloads string
	limit     time.Duration

	watchers   sync.WaitGroup
	faults     faults
	navigation navigation
}

//go:embed finders.js
var finders string

// Eval runs an expression in the page and decodes its value into out, unless out is nil.
// If the value is a promise, Eval waits for it. The page's content security policy does
// not apply to the expression.
func (p *Page) Eval(expression string, out any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	if err := p.evaluate(ctx, expression, out, chromedp.EvalAwaitPromise); err != nil {
		p.fail("evaluate "+short(expression), err)
	}
}

func (p *Page) evaluate(ctx context.Context, expression string, out any, options ...chromedp.EvaluateOption) error {
	raw, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](expression, append(options, chromedp.EvalAsValue)...))
	switch {
	case errors.Is(err, chromedp.ErrJSUndefined), err == nil && (out == nil || len(raw) == 0):
		return nil
	case err != nil:
		return err
	}
	return json.Unmarshal(raw, out)
}

// find calls a function of finders.js.
func (p *Page) find(ctx context.Context, out any, function string, args ...any) error {
	encoded := make([]string, len(args))
	for i, arg := range args {
		data, err := json.Marshal(arg)
		if err != nil {
			return err
		}
		encoded[i] = string(data)
	}
	call := function + "(" + strings.Join(encoded, ", ") + ")"
	return p.evaluate(ctx, "(() => {"+finders+"\nreturn "+call+"})()", out, userGesture)
}

func userGesture(params *runtime.EvaluateParams) { yes := true; params.UserGesture = &yes }

// errNotYet is the reason why a condition does not hold yet.
type errNotYet string

func (e errNotYet) Error() string { return string(e) }

// until repeats a function until it returns no error. It repeats after every kind of
// error, because a page that is being replaced by another one cannot answer.
func (p *Page) until(what string, try func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	if err := p.navigation.settle(ctx); err != nil {
		p.fail(what, err)
	}
	if err := poll(ctx, try); err != nil {
		p.fail(what, err)
	}
}

func poll(ctx context.Context, try func(ctx context.Context) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up: %w", last)
		case <-tick.C:
		}
	}
}

// fail ends the test with a message that contains the address, the title, the text and a
// picture of the page.
func (p *Page) fail(what string, err error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, wait.Limit())
	defer cancel()
	var seen struct{ URL, Title, Text string }
	if looked := p.find(ctx, &seen, "describe"); looked != nil {
		p.t.Fatalf("%s: %v (and the page does not answer: %v)", what, err, looked)
	}
	picture, shot := p.shootFailure(ctx)
	if shot != nil {
		picture = "no picture: " + shot.Error()
	}
	p.t.Fatalf("%s: %v\n  URL:     %s\n  title:   %s\n  picture: %s\n  text:    %s",
		what, err, seen.URL, seen.Title, picture, seen.Text)
}

// flush waits until the browser has reported all events that happened so far. The browser
// answers in order, so its answer to a trivial expression comes after them.
func (p *Page) flush() {
	ctx, cancel := context.WithTimeout(p.ctx, p.limit)
	defer cancel()
	if err := p.evaluate(ctx, "0", nil); err != nil {
		p.faults.add(fault{text: "the page does not answer: " + err.Error()})
	}
}

func short(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
