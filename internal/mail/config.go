package mail

import (
	"cmp"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Config is the configuration for sending mail. The zero Config means that none is sent.
type Config struct {
	URL     string          // smtp://user:password@mail.example.com:587 or smtps://…
	From    string          // bursar@example.com or Bursar <bursar@example.com>
	RootCAs *x509.CertPool  // trusted for the server's certificate; nil for the system's
	Backoff []time.Duration // pauses before further attempts; nil for the defaults
}

// Parse checks an operator's settings. No error contains the password.
func Parse(url, from string) (Config, error) {
	c := Config{URL: url, From: from}
	if c.Empty() {
		return c, nil
	}
	if _, err := parseServer(url); err != nil {
		return Config{}, err
	}
	if _, err := parseFrom(from); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Empty reports whether nothing is set.
func (c Config) Empty() bool { return c.URL == "" && c.From == "" }

// String leaves out the password, so that printing settings does not reveal it.
func (c Config) String() string {
	s, err := parseServer(c.URL)
	if err != nil {
		return "no mail"
	}
	return "mail from " + c.From + " by " + s.address
}

// LogValue returns String.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// server is the mail server that delivers the mail.
type server struct {
	host, address  string
	user, password string
	implicitTLS    bool
	startTLS       gomail.TLSPolicy
	loopback       bool
}

// parseServer parses the address of a mail server. Its errors never quote the address. If
// a character of a password is not escaped, any part of the address may be a part of the password.
func parseServer(text string) (server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.Fragment != "" || (u.Path != "" && u.Path != "/") {
		return server{}, errors.New("the mail server must be an address such as smtp://user:password@mail.example.com:587, " +
			"in which a / ? # % or @ of the password is written as %2F %3F %23 %25 or %40")
	}
	s := server{host: u.Hostname(), loopback: isLoopback(u.Hostname())}
	port := u.Port()
	switch u.Scheme {
	case "smtp":
		port = cmp.Or(port, "587")
	case "smtps":
		port, s.implicitTLS = cmp.Or(port, "465"), true
	default:
		return server{}, errors.New("the mail server's address must begin with smtp:// or smtps://")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return server{}, errors.New("the mail server's port must be a number from 1 to 65535")
	}
	s.address = net.JoinHostPort(s.host, port)
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		if s.user == "" || s.password == "" {
			return server{}, errors.New("the mail server's address must have both a user and a password, or neither")
		}
	}
	s.startTLS, err = parseStartTLS(u, s)
	return s, err
}

func parseStartTLS(u *url.URL, s server) (gomail.TLSPolicy, error) {
	switch {
	case u.RawQuery == "" && s.loopback:
		return gomail.TLSOpportunistic, nil
	case u.RawQuery == "":
		return gomail.TLSMandatory, nil
	case u.RawQuery != "starttls=off":
		return 0, errors.New("the mail server's address may be followed by ?starttls=off and nothing else")
	case s.implicitTLS:
		return 0, errors.New("starttls=off does not go with smtps://, which is TLS from the start")
	case !s.loopback:
		return 0, errors.New("starttls=off is for a mail server at a loopback address: Bursar must not send a password in clear, nor a sign-in link")
	}
	return gomail.NoTLS, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func parseFrom(text string) (*netmail.Address, error) {
	address, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, errors.New("the sender of mail must be an address such as bursar@example.com or Bursar <bursar@example.com>")
	}
	return address, nil
}
