package db

import "context"

// OpenBefore opens a store as the last program without a migration left it. A test fills it
// and opens it again, which migrates what it holds.
func OpenBefore(ctx context.Context, c Config, migration string) (*DB, error) {
	return open(ctx, c, func(name string) bool { return name < migration })
}

// Waiting counts the mutations that wait for a key.
func Waiting[In, Out any](g *Gather[In, Out], key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting[key])
}
