// Package cache has the bounded map in which services cache data that they have read or verified.
package cache

import "github.com/maypok86/otter/v2"

// Cache is a map of bounded size that evicts the least used entries. It is safe for concurrent use.
//
// It is an interface so that the type of a cache is hidden from the structs that have one. Every package that sees a
// generic type compiles all its methods again. The methods of this one were three quarters of the code that the packages
// above compiled.
type Cache[K comparable, V any] interface {
	GetIfPresent(key K) (V, bool)
	Set(key K, value V) (V, bool)
	// SetIfAbsent returns the value in the cache after the call, and whether it is the given one.
	SetIfAbsent(key K, value V) (V, bool)
}

// New returns an empty cache with a maximum number of values.
func New[K comparable, V any](size int) Cache[K, V] {
	return otter.Must(&otter.Options[K, V]{MaximumSize: size})
}
