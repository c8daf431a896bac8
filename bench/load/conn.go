package load

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"
)

// conn is a connection to the server that is opened when it is needed.
type conn struct {
	addr    string
	socket  net.Conn
	in      *bufio.Reader
	release func() bool
	until   time.Duration // the socket's deadline, on the clock
	clock   clock
	timeout time.Duration
}

// clock tells the time since a run began. It reads only the monotonic clock,
// which is cheaper than time.Now.
type clock struct{ began time.Time }

func (c clock) now() time.Duration { return time.Since(c.began) }

func newConn(addr string, c clock, timeout time.Duration) *conn {
	return &conn{addr: addr, clock: c, timeout: timeout, in: bufio.NewReaderSize(nil, 16<<10)}
}

func (c *conn) open(ctx context.Context) error {
	if c.socket != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: c.timeout}
	socket, err := dialer.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	c.socket, c.until = socket, 0
	c.in.Reset(socket)
	// Closing is what ends a read that is under way when the run is cancelled.
	c.release = context.AfterFunc(ctx, func() { socket.Close() })
	return nil
}

func (c *conn) close() {
	if c.socket == nil {
		return
	}
	c.release()
	c.socket.Close()
	c.socket = nil
}

// ask sends a request and reads its answer. After an error the connection is closed.
func (c *conn) ask(ctx context.Context, bytes []byte, noBody bool) (answer, error) {
	if err := c.open(ctx); err != nil {
		return answer{}, err
	}
	a, err := c.exchange(bytes, noBody)
	if err != nil || a.close {
		c.close()
	}
	return a, err
}

func (c *conn) exchange(bytes []byte, noBody bool) (answer, error) {
	// A deadline for each request would cost a timer each; one that is moved once
	// in a while ends a wait a little late, which the tally counts as too long.
	if now := c.clock.now(); c.until < now+c.timeout {
		c.until = now + c.timeout + c.timeout/10
		if err := c.socket.SetDeadline(c.clock.began.Add(c.until)); err != nil {
			return answer{}, fmt.Errorf("set deadline: %w", err)
		}
	}
	if _, err := c.socket.Write(bytes); err != nil {
		return answer{}, fmt.Errorf("send request: %w", err)
	}
	return readAnswer(c.in, noBody)
}
