package browsertest

import "time"

// Hurry makes a page give up sooner, so that a test of a failure does not take long.
func Hurry(p *Page) { p.limit = 2 * time.Second }
