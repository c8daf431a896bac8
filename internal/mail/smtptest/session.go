package smtptest

import (
	"fmt"
	"io"
	"strings"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// session is the session of one client on one connection.
type session struct {
	server *Server
	conn   *smtp.Conn
	user   string
	from   string
	to     []string
	served bool
}

func (s *Server) newSession(conn *smtp.Conn) (smtp.Session, error) {
	return &session{server: s, conn: conn}, nil
}

func (s *session) AuthMechanisms() []string {
	if s.server.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		s.server.change(func() { s.server.counts.Logins++ })
		if user != s.server.options.User || password != s.server.options.Password {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.user != s.server.options.User {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	message, err := parse(r)
	if err != nil {
		return fmt.Errorf("parse the message: %w", err)
	}
	message.From, message.To, message.User = s.from, s.to, s.user
	_, message.TLS = s.conn.TLSConnectionState()
	s.server.change(func() {
		s.server.counts.Messages++
		if s.server.refusals == 0 {
			s.server.received = append(s.server.received, message)
			return
		}
		s.server.refusals--
		err = &smtp.SMTPError{
			Code:    s.server.code,
			Message: fmt.Sprintf("<%s>: %s", strings.Join(s.to, ","), strings.Join(strings.Fields(message.Text), " ")),
		}
	})
	s.served = err == nil
	return err
}

// Reset is called after each message.
func (s *session) Reset() {
	s.from, s.to = "", nil
	if s.served && s.server.options.HangsUp {
		s.conn.Conn().Close()
	}
}

func (s *session) Logout() error { return nil }
