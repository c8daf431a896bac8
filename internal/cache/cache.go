// Package cache has the bounded map that services keep what they have read or verified in.
package cache

import "github.com/maypok86/otter/v2"

// Cache is a map of bounded size that evicts the entries used least. It is safe for concurrent use.
//
// It is an interface so that a struct with a cache does not show which type it is: every package that sees a generic type
// compiles all methods of it again, and those of this one were three quarters of the code that the packages above compiled.
type Cache[K comparable, V any] interface {
	GetIfPresent(key K) (V, bool)
	Set(key K, value V) (V, bool)
	// SetIfAbsent returns the value that the cache has then, and whether it is the given one.
	SetIfAbsent(key K, value V) (V, bool)
}

// New returns an empty cache for at most so many values.
func New[K comparable, V any](size int) Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{MaximumSize: size})
}
