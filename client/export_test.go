package client

// Waiting is how many wait for an exchange.
func (c *Client) Waiting() int {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if c.session.renewal == nil {
		return 0
	}
	return c.session.renewal.waiting
}
