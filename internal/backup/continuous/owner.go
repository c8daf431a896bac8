package continuous

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/superfly/ltx"
)

// owner identifies the store whose backup a target has.
type owner struct {
	ID    string    `json:"id"`
	Token string    `json:"token"` // changes every minute, so that a copy of the store is detected
	Since time.Time `json:"since"`
	Safe  time.Time `json:"safe"` // everything committed before this time is in the target
}

// tokens are the valid tokens of the owner of a target: the last one, the one that is being written, and those of a backup
// that was missing when this one began.
type tokens struct {
	Target string   `json:"target"`
	Tokens []string `json:"tokens"`
}

// claimTarget reads the owner of the target, and refuses the backup of another store. A store that did not write here last, such
// as an old copy of it, does not continue the backup, whatever the numbers are.
func (s *Shipper) claimTarget(ctx context.Context) error {
	var o owner
	err := getJSON(ctx, s.Target, ownerName, &o)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !isNew:
		return fmt.Errorf("read %s: %w", s.Target, err)
	case !isNew && o.ID != s.id:
		return errOther(s.Target)
	}
	var known tokens
	_ = getJSON(ctx, s.queue, tokensName, &known) // a missing file has no tokens
	if known.Target != s.Target.String() {
		known.Tokens = nil
	}
	isOther := !isNew && !slices.Contains(known.Tokens, o.Token)
	s.mu.Lock()
	s.token, s.earlier = o.Token, nil
	if isNew { // otherwise the backup that replaced this one is not continued
		s.earlier = slices.DeleteFunc(known.Tokens, func(t string) bool { return t == "" || t == s.next })
	}
	isLost := len(s.earlier) > 0
	s.mu.Unlock()
	if to, ok := s.Target.(folder); ok && isNew {
		if err := makeRoot(to, isLost); err != nil {
			return err
		}
	}
	if isOther {
		// The numbers of the cuts so far may be those of another copy. They are dropped before this store becomes the owner of the
		// target.
		if err := s.dropQueue(ctx); err != nil {
			return err
		}
	}
	if err := s.writeOwner(ctx); err != nil {
		return err
	}
	if isLost {
		s.Log.Warn("the backup that this server has written is gone, and a new one begins: is its disk mounted?", "target", s.Target.String())
	}
	all, err := list(ctx, s.Target)
	if err != nil {
		return err
	}
	s.merged = [bases]ltx.TXID{}
	landed := map[string]bool{}
	var base time.Time
	readable := inForm(all, len(s.Recipients) > 0)
	for _, t := range readable {
		landed[t.name()] = true
		if t.level == bases {
			base = t.object.Time
		} else {
			s.merged[t.level] = max(s.merged[t.level], t.max)
		}
	}
	s.mu.Lock()
	s.status.Base, s.landed = base, landed
	s.mu.Unlock()
	s.cutting.Lock()
	defer s.cutting.Unlock()
	if newest := newestOf(all).max; newest >= s.last && (isOther || newest > s.last) {
		s.last = newest
		if err := s.forget(ctx); err != nil {
			return err
		}
	}
	queued, err := list(ctx, s.queue)
	if err != nil {
		return err
	}
	for i := range queued {
		queued[i] = s.sealed(queued[i])
	}
	s.checkChain(append(readable, queued...), s.last)
	s.metOnce.Do(func() { close(s.met) })
	return nil
}

// makeRoot creates the folder of a backup the first time. Later, a missing folder is on a disk that is not mounted, and a
// new one would be on the disk of the store.
func makeRoot(to folder, isLost bool) error {
	if !isLost {
		return os.MkdirAll(string(to), 0o700)
	}
	if _, err := os.Stat(string(to)); err != nil {
		return fmt.Errorf("%s: %w: %w", to, errLost, err)
	}
	return nil
}

// dropQueue removes all cuts, because the target was written by another copy of this store.
func (s *Shipper) dropQueue(ctx context.Context) error {
	s.Log.Warn("the backup was written by another copy of this store, or this one has written elsewhere, so it needs a new base")
	s.cutting.Lock()
	defer s.cutting.Unlock()
	return s.forget(ctx)
}

// checkChain requests a base if the segments do not lead from the last base to a commit. Then there is no base yet, a
// segment was deleted, or segments in between went to another target or are encrypted.
func (s *Shipper) checkChain(all []segment, to ltx.TXID) {
	if _, err := plan(all, to); err != nil {
		s.Log.Info("the backup gets a base", "reason", err)
		s.wantBase()
	}
}

var (
	errLost = errors.New("the backup that this server has written there is gone: mount its disk again to continue;  " +
		"if it was emptied on purpose, see that the folder exists and start the server again, which begins a new backup")
	errReturned = errors.New("the earlier backup is available again, and continues")
	errUsurped  = errors.New("another server with a copy of this store writes there: stop it, or give each its own place, and start this one again")
)

// checkOwner returns an error if the target was emptied or is not mounted, or if another copy of the store writes
// there.
func (s *Shipper) checkOwner(ctx context.Context) error {
	var o owner
	err := getJSON(ctx, s.Target, ownerName, &o)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", s.Target, errLost)
	case err != nil:
		return fmt.Errorf("read %s in %s: %w", ownerName, s.Target, err)
	case o.ID != s.id:
		return errOther(s.Target)
	case slices.Contains(s.earlier, o.Token):
		return fmt.Errorf("%s: %w", s.Target, errReturned)
	case o.Token != s.token && (s.next == "" || o.Token != s.next):
		return fmt.Errorf("%s: %w", s.Target, errUsurped)
	}
	return nil
}

// writeOwner writes this store as the owner of the backup, and until when the backup is complete. The queue stores the new token first,
// so that a process that is killed in between knows both.
func (s *Shipper) writeOwner(ctx context.Context) error {
	s.mu.Lock()
	if s.next == "" {
		s.next = rand.Text()
	}
	o := owner{ID: s.id, Token: s.next, Since: s.since}
	if !s.status.Broken {
		o.Safe = s.status.Safe.UTC()
	}
	known := tokens{s.Target.String(), append([]string{s.token, s.next}, s.earlier...)}
	s.mu.Unlock()
	if err := s.putJSON(ctx, s.queue, tokensName, known); err != nil {
		return err
	}
	if err := s.putJSON(ctx, s.Target, ownerName, o); err != nil {
		return fmt.Errorf("write %s to %s: %w", ownerName, s.Target, err)
	}
	s.recorded = !o.Safe.IsZero()
	s.mu.Lock()
	s.token, s.next = s.next, ""
	s.mu.Unlock()
	var v Verified
	if err := getJSON(ctx, s.Target, verifiedName, &v); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s in %s: %w", verifiedName, s.Target, err)
	}
	s.mu.Lock()
	s.status.Verified = v
	s.mu.Unlock()
	return nil
}

func errOther(t Target) error {
	return fmt.Errorf("%s has the backup of another store: choose an empty place", t)
}
