package mail_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
)

// stalling is the address of a mail server that takes the first connection and never
// answers, and forwards all others.
func stalling(t *testing.T, to string) (address string, stalled <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan struct{})
	var pipes sync.WaitGroup
	pipes.Go(func() {
		for first := true; ; first = false {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			if first {
				close(taken)
				t.Cleanup(func() { in.Close() })
				continue
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			pipes.Go(func() { _, _ = io.Copy(out, in); out.Close() })
			pipes.Go(func() { _, _ = io.Copy(in, out); in.Close() })
		}
	})
	t.Cleanup(func() { listener.Close(); pipes.Wait() })
	return listener.Addr().String(), taken
}

func TestInvitationsDoNotHoldUpMailAboutAccounts(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := open(t, mail.Config{URL: server.URL})
	address, stalled := stalling(t, server.Address)
	o.DialTo(address)
	if err := o.queue(t, mail.Invitations, link()); err != nil {
		t.Fatal(err)
	}
	<-stalled
	o.send(t, link())
	server.Wait(t, 1)
}
