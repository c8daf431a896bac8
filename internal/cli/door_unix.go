//go:build unix

package cli

import (
	"net"
	"syscall"
)

// narrowDoor makes the kernel queue at most one more connection, so that those it
// has queued can be accepted before the listener is closed on them. Where it does
// not work, the door is only closed less gently.
func narrowDoor(l net.Listener) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 0) })
	}
}
