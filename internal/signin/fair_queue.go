package signin

import (
	"context"
	"slices"
	"sync"

	"bursar/internal/fault"
)

// maxWaiting bounds how many wait for their turn.
const maxWaiting = 256

// turns lets a few at a time do work that is expensive. Networks take turns: one that
// asks a thousand times waits a thousand times, and everybody else waits for as many
// others as there are networks.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting map[string][]chan bool // of each network, the oldest first
	order   []string               // networks that have somebody waiting, the next one first
	count   int
	most    int
}

func newTurns(atOnce int) *turns {
	return &turns{free: atOnce, waiting: map[string][]chan bool{}, most: maxWaiting}
}

var errCrowded = fault.New(fault.Unavailable, "too many people are signing in right now: try again in a moment")

// wait waits for a turn of a network. Whoever gets one calls end after it.
func (t *turns) wait(ctx context.Context, network string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	turn := make(chan bool, 1)
	joined := t.join(network, turn)
	t.mu.Unlock()
	if !joined {
		return errCrowded
	}
	select {
	case mine := <-turn:
		if !mine {
			return errCrowded
		}
		return nil
	case <-ctx.Done():
		if t.leave(network, turn) && <-turn {
			t.end()
		}
		return ctx.Err()
	}
}

// join adds somebody who waits. If there is no room, it takes that of whoever came last
// from the network with the most, unless this network would have as many then.
func (t *turns) join(network string, turn chan bool) bool {
	if t.count >= t.most {
		largest := network
		for _, other := range t.order {
			if len(t.waiting[other]) > len(t.waiting[largest]) {
				largest = other
			}
		}
		if len(t.waiting[largest]) <= len(t.waiting[network])+1 {
			return false
		}
		last := len(t.waiting[largest]) - 1
		t.waiting[largest][last] <- false
		t.waiting[largest] = t.waiting[largest][:last]
		t.count--
	}
	if len(t.waiting[network]) == 0 {
		t.order = append(t.order, network)
	}
	t.waiting[network] = append(t.waiting[network], turn)
	t.count++
	return true
}

// leave removes somebody who has stopped waiting, or reports that their turn is decided.
func (t *turns) leave(network string, turn chan bool) (decided bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting[network], turn)
	if i < 0 {
		return true
	}
	t.count--
	t.waiting[network] = slices.Delete(t.waiting[network], i, i+1)
	if len(t.waiting[network]) == 0 {
		delete(t.waiting, network)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == network })
	}
	return false
}

// end gives a turn that is over to the next network.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	network := t.order[0]
	t.order = t.order[1:]
	first := t.waiting[network][0]
	if t.waiting[network] = t.waiting[network][1:]; len(t.waiting[network]) == 0 {
		delete(t.waiting, network)
	} else {
		t.order = append(t.order, network)
	}
	t.count--
	first <- true
}
