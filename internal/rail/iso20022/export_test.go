package iso20022

import (
	"strings"

	"bursar/internal/rail"
)

// Read reads the text of a file, without a disk, so that it can be fuzzed.
func (c *Connector) Read(text string) ([]rail.Notice, error) { return c.read(strings.NewReader(text)) }

// Between lets fn run between the steps of sending and looking up.
func (c *Connector) Between(fn func()) { c.between = fn }
