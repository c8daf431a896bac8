package client

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// Option configures a [Client].
type Option func(*settings)

type settings struct {
	apiKey   *string
	client   *clientSecret
	token    *string
	http     *http.Client
	agent    string
	retries  retryPolicy
	log      *slog.Logger
	problems []error
}

type clientSecret struct{ id, secret string }

func defaults() settings {
	return settings{
		http:    &http.Client{Transport: newTransport()},
		agent:   fmt.Sprintf("bursar-go/1 (%s; %s/%s)", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		retries: retryPolicy{retries: 3, min: 200 * time.Millisecond, max: 10 * time.Second},
	}
}

// idleConnections is the number of connections kept open for parallel calls.
const idleConnections = 32

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := standard.Clone()
	own.MaxIdleConnsPerHost = idleConnections
	return own
}

// WithAPIKey signs in with an API key. The client exchanges it for a session on first use, and again whenever the session ends.
func WithAPIKey(key string) Option {
	return func(s *settings) { s.apiKey = &key }
}

// WithClientSecret signs in as a machine client, as [WithAPIKey] does with a key.
func WithClientSecret(id, secret string) Option {
	return func(s *settings) { s.client = &clientSecret{id, secret} }
}

// WithToken uses a session token, such as one from a device login. Together with [WithAPIKey] or [WithClientSecret], the token is used
// until it ends.
func WithToken(token string) Option {
	return func(s *settings) { s.token = &token }
}

// WithHTTPClient sends requests with another HTTP client. Its Timeout, if it has one,
// bounds each attempt instead of the default of 30 seconds.
func WithHTTPClient(h *http.Client) Option {
	return func(s *settings) {
		if h == nil {
			s.problems = append(s.problems, errors.New("bursar: the HTTP client is nil"))
			return
		}
		s.http = h
	}
}

// WithUserAgent sets the User-Agent, which the server shows with sessions and device logins.
func WithUserAgent(agent string) Option {
	return func(s *settings) { s.agent = agent }
}

// WithMaxRetries sets the maximum number of retries of a request. The default is 3; 0 disables retries.
func WithMaxRetries(n int) Option {
	return func(s *settings) {
		if n < 0 {
			s.problems = append(s.problems, errors.New("bursar: the number of retries is negative"))
		}
		s.retries.retries = n
	}
}

// WithRetryWait bounds the pause before a retry. The pause is random, from 0 to a bound that starts at min and doubles up to max. The
// default is 200 ms to 10 s. The server's Retry-After takes precedence, up to a minute.
func WithRetryWait(min, max time.Duration) Option {
	return func(s *settings) {
		if min < 0 || max < min {
			s.problems = append(s.problems, errors.New("bursar: the retry wait must have 0 <= min <= max"))
		}
		s.retries.min, s.retries.max = min, max
	}
}

// WithLogger logs every attempt and every retry at debug level. Credentials,
// tokens, device codes, queries and bodies are never logged.
func WithLogger(log *slog.Logger) Option {
	return func(s *settings) { s.log = log }
}

func (s *settings) check() error {
	problems := s.problems
	if s.apiKey != nil && s.client != nil {
		problems = append(problems, errors.New("bursar: an API key and a client secret exclude each other"))
	}
	if s.apiKey != nil {
		problems = append(problems, checkSecret("API key", *s.apiKey))
	}
	if s.client != nil {
		problems = append(problems, checkSecret("client id", s.client.id), checkSecret("client secret", s.client.secret))
	}
	if strings.ContainsFunc(s.agent, unicode.IsControl) {
		problems = append(problems, errors.New("bursar: the user agent has a control character"))
	}
	if s.token != nil {
		problems = append(problems, checkSecret("token", *s.token))
	}
	return errors.Join(problems...)
}

// checkSecret validates a secret. Its error does not contain the secret.
func checkSecret(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("bursar: the %s is empty", what)
	case !visible(text):
		return fmt.Errorf("bursar: the %s has a space, a line break or another character that none can have", what)
	}
	return nil
}
