package identity

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// cachedBasic is a machine client that authenticated with its id and secret. They are checked again whenever the epoch of the store changes.
type cachedBasic struct {
	actor audit.Actor
	until int64    // when the API key ends that the secret depends on; 0 for never
	from  []string // that key's networks
	noted atomic.Int64
}

// basicNote is the minimum interval between stored last uses of a client that sends its secret with every request.
const basicNote = time.Minute

// AuthenticateEither is Authenticate that also accepts the id and the secret of a machine client, as Authorization: Basic. Such a caller
// has no session. Only successes are cached, by their digest. Without the cache each request reads the store twice more, which is several
// times slower on PostgreSQL.
func (s *Service) AuthenticateEither(ctx context.Context, by db.Caller, authorization string, admit func() error) (audit.Actor, error) {
	switch scheme, _, _ := strings.Cut(authorization, " "); {
	case strings.EqualFold(scheme, "Bearer"):
		return s.Authenticate(ctx, authorization, admit)
	case !strings.EqualFold(scheme, "Basic"):
		return audit.Actor{}, fault.New(api.CodeUnauthorized,
			"not authenticated: send a session token as Authorization: Bearer, or a client id and secret as Authorization: Basic")
	}
	digest, epoch := sha256.Sum256([]byte(authorization)), s.db.Epoch()
	known, ok := s.passed.GetIfPresent(digest)
	if !ok || known.actor.Epoch != epoch || known.until != 0 && known.until <= s.db.Now() || !allowedFrom(known.from, by.IP) {
		if err := admit(); err != nil {
			return audit.Actor{}, err
		}
		who, err := s.try(ctx, by, authorization)
		if err != nil {
			return audit.Actor{}, err
		}
		fresh := &cachedBasic{actor: who.actor, until: who.until, from: who.from}
		fresh.actor.Epoch, fresh.actor.SecretHash = epoch, who.secret
		if ok {
			fresh.noted.Store(known.noted.Load())
		}
		known = fresh
		s.passed.Set(digest, known)
	}
	s.noteClient(ctx, known)
	return known.actor, nil
}

// noteClient stores that a client is in use. A failure to do so does not refuse the request.
func (s *Service) noteClient(ctx context.Context, known *cachedBasic) {
	now, before := s.db.Now(), known.noted.Load()
	if now < before+basicNote.Milliseconds() || !known.noted.CompareAndSwap(before, now) {
		return
	}
	_, _ = db.Write(ctx, s.db, db.SystemCaller(), func(tx *db.Tx) (struct{}, audit.Event, error) {
		return struct{}{}, audit.None("what the client does is recorded"), tx.Exec(`UPDATE account SET last_used_at = $2 WHERE id = $1`, known.actor.ID, now)
	})
}
