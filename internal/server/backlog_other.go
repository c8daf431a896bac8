//go:build !unix

package server

import "net"

// shrinkBacklog does nothing: this system cannot change the backlog of a listener.
func shrinkBacklog(net.Listener) {}
