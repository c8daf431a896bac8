package server

import (
	"math"
	"strconv"
	"strings"
	"time"

	"bursar/internal/audit"
	"bursar/internal/config"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/limit"
	"bursar/internal/web"
)

// limits bound the request rate of a caller, or of an address without one.
type limits struct {
	callers   *limit.Buckets
	strangers *limit.Buckets
	policy    string
	rate      config.Rate
}

func newLimits(r config.Rate, clock func() time.Time) limits {
	if r.Off {
		return limits{}
	}
	window := int(math.Ceil(float64(r.Burst) / r.PerSecond))
	return limits{
		callers:   limit.New(r.PerSecond, r.Burst, clock),
		strangers: limit.New(r.PerSecond, r.Burst, clock),
		policy:    `"default";q=` + strconv.Itoa(r.Burst) + `;w=` + strconv.Itoa(window),
		rate:      r,
	}
}

// setHeaders writes the state of a bucket to the RateLimit headers.
func (l limits) setHeaders(x *web.Exchange, v limit.Verdict) error {
	if l.policy == "" {
		return nil
	}
	reset := int(math.Ceil(float64(l.rate.Burst-v.Remaining) / l.rate.PerSecond))
	x.SetHeader("Ratelimit-Policy", l.policy)
	x.SetHeader("Ratelimit", `"default";r=`+strconv.Itoa(v.Remaining)+`;t=`+strconv.Itoa(reset))
	if !v.OK {
		return fault.Limited(v.Wait)
	}
	return nil
}

// authenticate returns the caller. A failed authentication counts against the limit of
// the address.
func (s *Server) authenticate(x *web.Exchange) (audit.Actor, error) {
	header := x.R.Header.Get("Authorization")
	admit := func() error {
		if v := s.limits.strangers.Peek(limit.Address(x.IP)); !v.OK {
			return fault.Limited(v.Wait)
		}
		return nil
	}
	var actor audit.Actor
	var err error
	if strings.HasPrefix(x.R.URL.Path, "/v2/") {
		stranger := db.Caller{Actor: audit.Actor{Type: audit.System, RequestID: x.RequestID, IP: x.IP, Agent: x.R.UserAgent()}}
		actor, err = s.identity.AuthenticateEither(x.R.Context(), stranger, header, admit)
	} else {
		actor, err = s.identity.Authenticate(x.R.Context(), header, admit)
	}
	if err != nil {
		if limited := s.admit(x); limited != nil {
			return actor, limited
		}
	}
	return actor, err
}

// count checks the rate limit of a caller. The request counts as the given number of requests.
func (s *Server) count(x *web.Exchange, callerID string, requests int) error {
	return s.limits.setHeaders(x, s.limits.callers.TakeSeveral(callerID, requests))
}

// admit checks the rate limit of an address without a caller.
func (s *Server) admit(x *web.Exchange) error {
	return s.limits.setHeaders(x, s.limits.strangers.Take(limit.Address(x.IP)))
}
