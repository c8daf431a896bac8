package signin

import (
	"context"
	"slices"
	"sync"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/limit"
)

// maxWaiting is the maximum number of waiting callers, which bounds their memory.
const maxWaiting = 2048

// fairQueue limits how many callers do expensive work at once. Regions take turns, and the networks of a region share its turns. Many
// requests from one network, or from many networks of one region, wait for each other. Any other caller waits for at most as many others as
// there are regions.
type fairQueue struct {
	mu      sync.Mutex
	free    int
	regions ring[*ring[waiters]]
	count   int
	most    int
}

// waiters are the waiting callers of a network, oldest first.
type waiters []chan bool

// ring holds what takes turns, by key. order contains the keys, the next one first.
type ring[T any] struct {
	of    map[string]T
	order []string
	count int // number of waiting callers
}

func newRing[T any]() ring[T] { return ring[T]{of: map[string]T{}} }

func (r *ring[T]) add(key string, value T) {
	if _, ok := r.of[key]; !ok {
		r.order = append(r.order, key)
	}
	r.of[key] = value
}

func (r *ring[T]) remove(key string) {
	delete(r.of, key)
	r.order = slices.DeleteFunc(r.order, func(other string) bool { return other == key })
}

// next returns the key whose turn it is, and moves it to the end.
func (r *ring[T]) next() string {
	key := r.order[0]
	r.order = append(r.order[1:], key)
	return key
}

// largest returns the key with the most waiting callers.
func (r *ring[T]) largest(size func(T) int) (key string, most int) {
	for _, other := range r.order {
		if n := size(r.of[other]); n > most {
			key, most = other, n
		}
	}
	return key, most
}

func newFairQueue(atOnce int) *fairQueue {
	return &fairQueue{free: atOnce, regions: newRing[*ring[waiters]](), most: maxWaiting}
}

var errTooManySignIns = fault.New(api.CodeUnavailable, "too many people are signing in right now: try again in a moment")

// wait waits for a turn of the address. A caller who gets a turn calls end afterwards.
func (f *fairQueue) wait(ctx context.Context, ip string) error {
	f.mu.Lock()
	if f.free > 0 {
		f.free--
		f.mu.Unlock()
		return nil
	}
	region, network, turn := limit.Region(ip), limit.Network(ip), make(chan bool, 1)
	joined := f.join(region, network, turn)
	f.mu.Unlock()
	if !joined {
		return errTooManySignIns
	}
	select {
	case mine := <-turn:
		if !mine {
			return errTooManySignIns
		}
		return nil
	case <-ctx.Done():
		if f.leave(region, network, turn) && <-turn {
			f.end()
		}
		return ctx.Err()
	}
}

// join adds a waiting caller. If the queue is full, it replaces the newest caller from the largest network of the largest region. It adds
// nothing if the caller's own region and network would then be as large.
func (f *fairQueue) join(region, network string, turn chan bool) bool {
	if f.count >= f.most && !f.makeRoom(region, network) {
		return false
	}
	r := f.regions.of[region]
	if r == nil {
		made := newRing[waiters]()
		r = &made
		f.regions.add(region, r)
	}
	r.add(network, append(r.of[network], turn))
	r.count++
	f.count++
	return true
}

func (f *fairQueue) makeRoom(region, network string) bool {
	own, large := f.regions.of[region], region
	if largest, most := f.regions.largest(func(r *ring[waiters]) int { return r.count }); own == nil && most > 1 || own != nil && most > own.count+1 {
		large = largest
	} else if own == nil {
		return false
	}
	from := f.regions.of[large]
	victim, most := from.largest(func(w waiters) int { return len(w) })
	if large == region && most <= len(from.of[network])+1 {
		return false
	}
	waiting := from.of[victim]
	last := waiting[len(waiting)-1]
	f.drop(large, victim, len(waiting)-1)
	last <- false
	return true
}

// drop removes a waiting caller.
func (f *fairQueue) drop(region, network string, i int) {
	r := f.regions.of[region]
	r.of[network] = slices.Delete(r.of[network], i, i+1)
	if len(r.of[network]) == 0 {
		r.remove(network)
	}
	if r.count--; r.count == 0 {
		f.regions.remove(region)
	}
	f.count--
}

// leave removes a caller who has stopped waiting, or reports that their turn is already decided.
func (f *fairQueue) leave(region, network string, turn chan bool) (decided bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.regions.of[region]
	if r == nil {
		return true
	}
	i := slices.Index(r.of[network], turn)
	if i < 0 {
		return true
	}
	f.drop(region, network, i)
	return false
}

// end passes a finished turn to the next region.
func (f *fairQueue) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		f.free++
		return
	}
	region := f.regions.next()
	r := f.regions.of[region]
	network := r.next()
	first := r.of[network][0]
	f.drop(region, network, 0)
	first <- true
}
