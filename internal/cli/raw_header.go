package cli

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"bursar/client"
	"bursar/internal/cli/term"
)

// sending adds the headers of --header to the requests of the session.
func (call *rawCall) sending(ctx context.Context, s *session) (context.Context, error) {
	add := http.Header{}
	for _, line := range call.headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || !headerShape.MatchString(name) || strings.ContainsAny(value, "\r\n\x00"):
			return nil, term.Usagef("--header must be 'Name: value'")
		case strings.EqualFold(name, "Idempotency-Key"):
			ctx = client.WithIdempotencyKey(ctx, value)
		default:
			add.Add(name, value)
		}
	}
	if len(add) == 0 {
		return ctx, nil
	}
	var err error
	s.Client, err = newClient(s.url, s.held, client.WithHTTPClient(&http.Client{Transport: addHeaders{add, strings.Contains(call.path, tokenPath)}}))
	return ctx, err
}

const tokenPath = "/auth/token"

// addHeaders replaces headers of requests. Sign-in requests stay unchanged, unless the user requested one.
type addHeaders struct {
	add    http.Header
	always bool
}

func (a addHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.always || !strings.HasSuffix(request.URL.Path, tokenPath) {
		request = request.Clone(request.Context())
		maps.Copy(request.Header, a.add)
	}
	return http.DefaultTransport.RoundTrip(request)
}
