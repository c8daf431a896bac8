// Package limit implements rate limits. It keeps a token bucket for each key in a map
// that evicts old keys, so that clients cannot fill the memory.
package limit

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"bursar/internal/cache"
)

// maxKeys bounds how many buckets of a kind are in memory.
const maxKeys = 20_000

// Address returns the key of a network address. The owner of one IPv6 address usually has
// the whole /64, so all of it counts as one.
func Address(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	if address.Unmap().Is4() {
		return address.Unmap().String()
	}
	network, err := address.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return network.String()
}

// Network returns the key of the network around an address: a /24 of IPv4, a /48 of IPv6.
// The owner of many addresses mostly has neighboring ones.
func Network(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	bits := 48
	if address = address.Unmap().WithZone(""); address.Is4() {
		bits = 24
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return ip
	}
	return network.String()
}

// Region returns the key of the region around an address: a /16 of IPv4, or a /32 of IPv6, as a network provider has.
func Region(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	bits := 32
	if address = address.Unmap().WithZone(""); address.Is4() {
		bits = 16
	}
	region, err := address.Prefix(bits)
	if err != nil {
		return ip
	}
	return region.String()
}

// Buckets is a set of token buckets of one kind. A nil *Buckets has no limit.
type Buckets struct {
	every   rate.Limit
	burst   int
	clock   func() time.Time
	buckets cache.Cache[string, *rate.Limiter]
}

// New returns buckets that hold burst tokens and gain them at the given rate.
func New(perSecond float64, burst int, clock func() time.Time) *Buckets {
	return &Buckets{
		every:   rate.Limit(perSecond),
		burst:   burst,
		clock:   clock,
		buckets: cache.New[string, *rate.Limiter](maxKeys),
	}
}

// Verdict is the result of a request to a bucket.
type Verdict struct {
	OK        bool
	Remaining int           // tokens left
	Wait      time.Duration // until there is one again, if not OK
}

// Take takes a token.
func (b *Buckets) Take(key string) Verdict { return b.ask(key, 1) }

// TakeSeveral takes tokens, all of them or none. It takes at most one token less than a bucket
// holds, because the caller may have taken one already. Otherwise there would never be enough.
func (b *Buckets) TakeSeveral(key string, tokens int) Verdict {
	if b != nil {
		tokens = min(tokens, max(1, b.burst-1))
	}
	return b.ask(key, tokens)
}

// Peek reports whether there is a token without taking it.
func (b *Buckets) Peek(key string) Verdict { return b.ask(key, 0) }

func (b *Buckets) ask(key string, tokens int) Verdict {
	if b == nil {
		return Verdict{OK: true}
	}
	bucket, ok := b.buckets.GetIfPresent(key)
	if !ok {
		bucket, _ = b.buckets.SetIfAbsent(key, rate.NewLimiter(b.every, b.burst))
	}
	now := b.clock()
	ok = bucket.AllowN(now, tokens)
	left := bucket.TokensAt(now)
	if tokens == 0 {
		ok = left >= 1
	}
	v := Verdict{OK: ok, Remaining: max(0, int(left))}
	if !ok {
		v.Wait = time.Duration((float64(max(1, tokens)) - left) / float64(b.every) * float64(time.Second))
	}
	return v
}
