// Package railtest checks that a connector keeps the guarantees that package rail describes. Every connector runs it.
package railtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bursar/internal/rail"
)

// Bank is the other side of a connector, as the suite controls it.
type Bank interface {
	// Connect returns the connector of another node, with the rail that it serves.
	Connect() (rail.Connector, *rail.Rail)
	// Payment returns the first submission of a payment that the bank accepts and leaves undecided.
	Payment(endToEndID string) rail.Payment
	// Received counts how often the bank has received a payment.
	Received(endToEndID string) int
	// Complete makes the bank report that a payment is completed: each submission that it has received and can distinguish.
	Complete(endToEndID string)
	// Between runs fn between the steps of each Submit and LookUp of a connector.
	Between(c rail.Connector, fn func())
	// Now returns the time of the connectors.
	Now() time.Time
}

// Run checks a connector. Open returns a new bank.
func Run(t *testing.T, open func(t *testing.T) Bank) {
	for name, check := range map[string]func(n *node){
		"a payment that is submitted twice is received once":              submitTwice,
		"a payment that is twice in one list is received once":            submitTwiceInOneList,
		"a payment that was received is found":                            findReceived,
		"a submission that was not found is not sent later":               lateSubmit,
		"a submission that is looked up without number can still be sent": askWithoutNumber,
		"nothing is sent after the context has ended":                     endedContext,
		"nothing is sent if the context ends meanwhile":                   endedWhileWaiting,
		"a payment that was received is never refused":                    refusedNow,
		"nothing is sent after the send window":                           endedWindow,
		"a submission that pauses anywhere is sent once":                  pauses,
		"a submission that crashes anywhere leaves no doubt":              crashes,
		"nodes that submit and look up at once agree":                     races,
		"a submission that was found not paid is followed by one more":    notPaid,
		"a submission after one that was not paid can be missing":         notPaidAndMissing,
		"a look-up that pauses anywhere agrees with a late submission":    lookUpPauses,
		"a look-up that crashes anywhere leaves no doubt":                 lookUpCrashes,
		"an answer is repeated until it is done":                          answers,
		"answers in another order are each about their payment":           reordered,
	} {
		t.Run(name, func(t *testing.T) {
			check(connect(t, open(t)))
		})
	}
}

// node is a connector of a bank.
type node struct {
	*testing.T
	rail.Connector
	bank Bank
	rail *rail.Rail
}

func connect(t *testing.T, b Bank) *node {
	c, r := b.Connect()
	return &node{t, c, b, r}
}

func (n *node) other() *node { return connect(n.T, n.bank) }

// submission returns a payment with a submission number.
func (n *node) submission(id string, number int) rail.Payment {
	p := n.bank.Payment(id)
	p.Submission = number
	return p
}

func (n *node) submit(list ...rail.Payment) []rail.Outcome {
	n.Helper()
	out, err := n.Submit(n.Context(), n.rail, list)
	if err != nil || len(out) != len(list) {
		n.Errorf("submit: %v, %v", out, err)
		return make([]rail.Outcome, len(list))
	}
	return out
}

func (n *node) lookUp(p rail.Payment) rail.Outcome {
	n.Helper()
	out, err := n.LookUp(n.Context(), n.rail, []rail.Payment{p})
	if err != nil || len(out) != 1 {
		n.Fatalf("look up: %v, %v", out, err)
	}
	return out[0]
}

// received checks how often the bank has received a payment.
func (n *node) received(id string, want int) {
	n.Helper()
	if got := n.bank.Received(id); got != want {
		n.Errorf("the bank has received %s %d times, want %d", id, got, want)
	}
}

// answered checks an outcome.
func (n *node) answered(what string, got rail.Outcome, state rail.State, submission int) {
	n.Helper()
	if got.State != state || got.Submission != submission {
		n.Errorf("%s: it is %s in submission %d, want %s in %d", what, got.State, got.Submission, state, submission)
	}
}

func submitTwice(n *node) {
	p := n.submission("P1", 1)
	first := n.submit(p)[0]
	n.answered("submitted", first, rail.Accepted, 1)
	for name, again := range map[string]rail.Outcome{
		"by the same node":           n.submit(p)[0],
		"by another node":            n.other().submit(p)[0],
		"with a higher submission":   n.other().submit(n.submission("P1", 2))[0],
		"beside another payment":     n.submit(n.submission("P2", 1), p)[1],
		"after its send window ends": n.submit(expired(n, p))[0],
	} {
		if again != first {
			n.Errorf("submitted again %s: %+v, want %+v", name, again, first)
		}
	}
	n.received("P1", 1)
	n.received("P2", 1)
}

// expired returns a payment whose send window has ended.
func expired(n *node, p rail.Payment) rail.Payment {
	p.SendBefore = n.bank.Now().UnixMilli()
	return p
}

func submitTwiceInOneList(n *node) {
	p := n.submission("P1", 1)
	if out := n.submit(p, p); out[0] != out[1] || out[0].State != rail.Accepted {
		n.Errorf("answered %+v", out)
	}
	n.received("P1", 1)
}

func findReceived(n *node) {
	p := n.submission("P1", 1)
	n.submit(p)
	n.answered("looked up", n.other().lookUp(p), rail.Accepted, 1)
	n.answered("looked up as a later submission", n.lookUp(n.submission("P1", 2)), rail.Accepted, 1)
	n.answered("looked up without a number", n.lookUp(n.submission("P1", 0)), rail.Accepted, 1)
	n.received("P1", 1)
}

func lateSubmit(n *node) {
	first, second, third := n.submission("P1", 1), n.submission("P1", 2), n.submission("P1", 3)
	n.answered("before it is submitted", n.other().lookUp(second), rail.NotReceived, 2)
	for _, late := range []rail.Payment{first, second} {
		n.answered("submitted late", n.submit(late)[0], rail.Unknown, late.Submission)
	}
	n.received("P1", 0)
	n.answered("a look-up of an earlier submission", n.lookUp(first), rail.NotReceived, 2)
	n.answered("submitted again", n.submit(third)[0], rail.Accepted, 3)
	n.answered("submitted late", n.other().submit(first)[0], rail.Accepted, 3)
	n.answered("looked up", n.lookUp(first), rail.Accepted, 3)
	n.received("P1", 1)
}

func askWithoutNumber(n *node) {
	n.answered("looked up", n.lookUp(n.submission("P1", 0)), rail.NotReceived, 0)
	n.answered("submitted", n.submit(n.submission("P1", 1))[0], rail.Accepted, 1)
	n.received("P1", 1)
}

func endedContext(n *node) {
	ctx, end := context.WithCancel(n.Context())
	end()
	if out, err := n.Submit(ctx, n.rail, []rail.Payment{n.submission("P1", 1)}); err == nil && out[0].State != rail.Unknown {
		n.Errorf("answered %+v", out)
	}
	n.received("P1", 0)
}

// endedWhileWaiting ends the context after Submit has begun.
func endedWhileWaiting(n *node) {
	ctx, end := context.WithCancel(n.Context())
	defer end()
	n.bank.Between(n.Connector, end)
	if out, err := n.Submit(ctx, n.rail, []rail.Payment{n.submission("P1", 1)}); err == nil && out[0].State != rail.Unknown {
		n.Errorf("answered %+v", out)
	}
	n.received("P1", 0)
}

// refusedNow submits again a sent payment that Check would refuse by then.
func refusedNow(n *node) {
	p := n.submission("P1", 1)
	first := n.submit(p)[0]
	p.To = rail.Destination{}
	p.Amount = 0
	if again := n.submit(p)[0]; again != first {
		n.Errorf("submitted again: %+v, want %+v", again, first)
	}
	n.received("P1", 1)
}

func endedWindow(n *node) {
	n.answered("submitted", n.submit(expired(n, n.submission("P1", 1)))[0], rail.Unknown, 1)
	n.received("P1", 0)
	n.answered("looked up", n.lookUp(n.submission("P1", 1)), rail.NotReceived, 1)
}

// briefly is how long a submission pauses for a look-up that may have to wait for it.
const briefly = 50 * time.Millisecond

// pauses stops a submission at each of its steps, while another node looks it up and, if it is not found, submits it again.
func pauses(n *node) {
	for step := 1; ; step++ {
		id := fmt.Sprintf("PAUSE%d", step)
		p := n.submission(id, 1)
		paused, other, reached, ended := n.other(), n.other(), 0, make(chan struct{})
		n.bank.Between(paused.Connector, func() {
			if reached++; reached != step {
				return
			}
			go func() {
				defer close(ended)
				if out, err := other.LookUp(n.Context(), other.rail, []rail.Payment{p}); err != nil {
					n.Error(err)
				} else if out[0].State == rail.NotReceived {
					other.submit(n.submission(id, 2))
				}
			}()
			select {
			case <-ended:
			case <-time.After(briefly):
			}
		})
		if _, err := paused.Submit(n.Context(), paused.rail, []rail.Payment{p}); err != nil {
			n.Fatal(err)
		}
		if reached < step {
			return // it has no more steps
		}
		<-ended
		n.received(id, 1)
		if found := n.lookUp(p); found.State != rail.Accepted {
			n.Errorf("paused at step %d, it is %+v", step, found)
		}
	}
}

// killAt ends a call of another node at one of its steps, as if the node were killed there. It returns how many steps the call reached.
func (n *node) killAt(step int, call func(killed *node)) (reached int) {
	killed, ended := n.other(), make(chan struct{})
	n.bank.Between(killed.Connector, func() {
		if reached++; reached == step {
			panic("killed")
		}
	})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		call(killed)
	}()
	<-ended
	return reached
}

// crashes ends a submission at each of its steps, as if its node were killed there.
func crashes(n *node) {
	for step := 1; ; step++ {
		id := fmt.Sprintf("CRASH%d", step)
		p := n.submission(id, 1)
		reached := n.killAt(step, func(killed *node) { _, _ = killed.Submit(n.Context(), killed.rail, []rail.Payment{p}) })
		found := n.lookUp(p)
		switch found.State {
		case rail.Accepted:
			n.received(id, 1)
			n.answered("submitted again", n.submit(p)[0], rail.Accepted, 1)
		case rail.NotReceived:
			n.received(id, 0)
			n.answered("submitted again", n.submit(n.submission(id, 2))[0], rail.Accepted, 2)
		default:
			n.Errorf("killed at step %d, it is %+v", step, found)
		}
		n.received(id, 1)
		if reached < step {
			return // it has no more steps
		}
	}
}

// lookUpPauses stops a look-up at each of its steps, while another node submits what is looked up.
func lookUpPauses(n *node) {
	for step := 1; ; step++ {
		id := fmt.Sprintf("LOOK%d", step)
		p := n.submission(id, 1)
		paused, other, reached, ended := n.other(), n.other(), 0, make(chan struct{})
		var sent rail.Outcome
		n.bank.Between(paused.Connector, func() {
			if reached++; reached != step {
				return
			}
			go func() {
				defer close(ended)
				sent = other.submit(p)[0]
			}()
			select {
			case <-ended:
			case <-time.After(briefly):
			}
		})
		found := paused.lookUp(p)
		if reached < step {
			return // it has no more steps
		}
		<-ended
		if found.State == rail.NotReceived {
			n.answered("submitted late", sent, rail.Unknown, 1)
			n.received(id, 0)
			n.answered("submitted again", n.submit(n.submission(id, 2))[0], rail.Accepted, 2)
		} else {
			n.answered("looked up", found, rail.Accepted, 1)
			n.answered("submitted", sent, rail.Accepted, 1)
		}
		n.received(id, 1)
	}
}

// lookUpCrashes ends a look-up at each of its steps. Its answer is lost, so the submission may arrive until another look-up.
func lookUpCrashes(n *node) {
	for step := 1; ; step++ {
		id := fmt.Sprintf("DEAD%d", step)
		p := n.submission(id, 1)
		reached := n.killAt(step, func(killed *node) { _, _ = killed.LookUp(n.Context(), killed.rail, []rail.Payment{p}) })
		sent, found := n.submit(p)[0], n.lookUp(p)
		if sent.State == rail.Accepted {
			n.answered("looked up", found, rail.Accepted, 1)
		} else {
			n.answered("submitted", sent, rail.Unknown, 1)
			n.answered("looked up", found, rail.NotReceived, 1)
			n.received(id, 0)
			n.answered("submitted again", n.submit(n.submission(id, 2))[0], rail.Accepted, 2)
		}
		n.received(id, 1)
		if reached < step {
			return // it has no more steps
		}
	}
}

// races submits and looks up the same payments by several nodes concurrently.
func races(n *node) {
	const payments, nodes = 12, 3
	var all sync.WaitGroup
	found := make([][]rail.Outcome, nodes)
	for i := range nodes {
		one := n.other()
		all.Go(func() {
			for k := range payments {
				p := n.submission(fmt.Sprintf("RACE%d", k), 1)
				call := one.Submit
				if (k+i)%nodes == 0 {
					call = one.LookUp
				}
				out, err := call(n.Context(), one.rail, []rail.Payment{p})
				if err != nil {
					n.Error(err)
					return
				}
				found[i] = append(found[i], out[0])
			}
		})
	}
	all.Wait()
	if n.Failed() {
		return
	}
	for k := range payments {
		want := 1
		for i := range nodes {
			if found[i][k].State == rail.NotReceived {
				want = 0
			}
		}
		n.received(fmt.Sprintf("RACE%d", k), want)
	}
}

// hear returns the messages that the bank reports, and the outcomes of payments in them, by their end-to-end ids.
func (n *node) hear() (messages []rail.Message, decided map[string][]rail.Outcome) {
	n.Helper()
	messages, err := n.Receive(n.Context())
	if err != nil {
		n.Fatal(err)
	}
	decided = map[string][]rail.Outcome{}
	for _, m := range messages {
		for _, notice := range m.Notices {
			if notice.Kind == rail.Decided {
				decided[notice.EndToEndID] = append(decided[notice.EndToEndID], notice.Outcome)
			}
		}
	}
	return messages, decided
}

func answers(n *node) {
	n.submit(n.submission("P1", 1))
	n.bank.Complete("P1")
	first, decided := n.hear()
	again, _ := n.hear() // the first was lost
	same := func(a, b rail.Message) bool { return a.ID == b.ID && slices.Equal(a.Notices, b.Notices) }
	if len(first) == 0 || !slices.EqualFunc(first, again, same) {
		n.Fatalf("heard %+v, then %+v", first, again)
	}
	for _, outcome := range decided["P1"] {
		n.answered("decided", outcome, rail.Completed, 1)
	}
	var err error
	for range 2 { // done twice is done
		for _, m := range again {
			err = errors.Join(err, n.Done(n.Context(), m))
		}
	}
	if left, _ := n.hear(); err != nil || len(left) != 0 {
		n.Errorf("heard %+v after it was done, %v", left, err)
	}
}

// reordered makes the bank decide payments in another order than that in which they were sent, and processes the last of its messages
// first.
func reordered(n *node) {
	n.submit(n.submission("P1", 1), n.submission("P2", 1))
	n.submit(n.submission("P3", 1))
	n.submit(n.afterNotPaid("P2", 2, 1))
	n.submit(n.submission("P4", 1)) // the bank reports nothing about it
	for _, id := range []string{"P3", "P2", "P1"} {
		n.bank.Complete(id)
	}
	messages, decided := n.hear()
	for id, submissions := range map[string][]int{"P1": {1}, "P2": {1, 2}, "P3": {1}, "P4": nil} {
		newest := 0
		for _, outcome := range decided[id] {
			newest = max(newest, outcome.Submission)
			if outcome.State != rail.Completed || !slices.Contains(submissions, outcome.Submission) {
				n.Errorf("heard %+v about %s, of the submissions %d", outcome, id, submissions)
			}
		}
		if len(submissions) > 0 && newest != submissions[len(submissions)-1] {
			n.Errorf("heard %+v about %s, want submission %d", decided[id], id, len(submissions))
		}
	}
	slices.Reverse(messages)
	for i, m := range messages {
		if err := n.Done(n.Context(), m); err != nil {
			n.Fatal(err)
		}
		if left, _ := n.hear(); len(left) != len(messages)-i-1 {
			n.Errorf("%d messages are left of %d after %d were taken", len(left), len(messages), i+1)
		}
	}
	for id, submission := range map[string]int{"P1": 1, "P2": 2, "P3": 1, "P4": 1} {
		if found := n.lookUp(n.submission(id, 0)); found.State == rail.NotReceived || found.Submission != submission {
			n.Errorf("looked up %s: %+v, want submission %d", id, found, submission)
		}
	}
}
