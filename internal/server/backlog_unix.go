//go:build unix

package server

import (
	"net"
	"syscall"
)

// shrinkBacklog limits the kernel's queue to at most one more connection, so that
// connections that are already queued can be accepted before the listener closes. If that
// fails, the queued connections are reset, and clients retry.
func shrinkBacklog(l net.Listener) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) })
	}
}
