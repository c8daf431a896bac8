package browsertest

import "time"

// Hurry makes a page give up sooner.
func Hurry(p *Page) { p.limit = 300 * time.Millisecond }
