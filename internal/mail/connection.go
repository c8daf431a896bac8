package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// patience bounds the wait for a connection, and then for each message.
const patience = 15 * time.Second

// connection is an authenticated SMTP session.
type connection struct {
	client  *gomail.Client
	session *smtp.Client
	release func()
}

// connect opens a connection that is closed when ctx ends. It dials directly, because the
// library leaves the connection open if authentication fails.
func (m *Mailer) connect(ctx context.Context) (*connection, error) {
	release := func() {}
	dial := func(within context.Context, network, _ string) (net.Conn, error) {
		conn, err := m.dial(within, network)
		if err != nil {
			return nil, err
		}
		forget := context.AfterFunc(ctx, func() { conn.Close() })
		release = func() {
			forget()
			conn.Close()
		}
		return conn, nil
	}
	client, err := gomail.NewClient(m.server.host, m.options(dial)...)
	if err != nil {
		return nil, fmt.Errorf("prepare a connection to the mail server: %w", err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		release()
		return nil, fmt.Errorf("connect to the mail server: %w", err)
	}
	return &connection{client: client, session: session, release: release}, nil
}

func (m *Mailer) dial(ctx context.Context, network string) (net.Conn, error) {
	if m.server.implicitTLS {
		return (&tls.Dialer{Config: m.tls()}).DialContext(ctx, network, m.server.address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, m.server.address)
}

func (m *Mailer) tls() *tls.Config {
	return &tls.Config{ServerName: m.server.host, RootCAs: m.config.RootCAs, MinVersion: tls.VersionTLS12}
}

func (m *Mailer) options(dial gomail.DialContextFunc) []gomail.Option {
	options := []gomail.Option{
		gomail.WithTimeout(patience),
		gomail.WithTLSConfig(m.tls()),
		gomail.WithTLSPolicy(m.server.startTLS),
		gomail.WithDialContextFunc(dial),
	}
	if m.server.implicitTLS {
		options = append(options, gomail.WithSSL())
	}
	if m.server.user == "" {
		return options
	}
	// Without TLS the library sends a password only to localhost, 127.0.0.1 and ::1;
	// the NOENC mechanisms add the rest of 127.0.0.0/8.
	mechanisms := []gomail.SMTPAuthType{gomail.SMTPAuthPlain, gomail.SMTPAuthLogin}
	if m.server.loopback {
		mechanisms = []gomail.SMTPAuthType{gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc}
	}
	mechanisms = append(mechanisms, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5)
	return append(options, gomail.WithUsername(m.server.user), gomail.WithPassword(m.server.password),
		gomail.WithOpportunisticSMTPAuth(mechanisms...))
}

// send sends a message to the server, which must support SMTPUTF8 for addresses beyond ASCII.
func (c *connection) send(content *gomail.Msg, needsUTF bool) error {
	c.session.SkipSMTPUTF8(!needsUTF)
	err := c.client.SendWithSMTPClient(c.session, content)
	if content.IsDelivered() {
		return nil // the server has accepted the message, so later errors do not matter
	}
	if err == nil {
		return errors.New("the message was not offered to the mail server")
	}
	return fmt.Errorf("send a message: %w", err)
}

// close ends the session. Errors do not matter.
func (c *connection) close() {
	_ = c.client.CloseWithSMTPClient(c.session)
	c.release()
}
