package signin

import (
	"context"
	"log/slog"

	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/identity"
)

// maxRecoveries is the maximum number of recoveries in the queue.
const maxRecoveries = 64

type recovery struct {
	by    db.Caller
	email string
}

// Recovers reports whether recovery links can be mailed.
func (s *Service) Recovers() bool { return s.links.Mails() }

// Recover mails a link to the user with an email address, if there is one. It returns before the user is looked up, so that neither
// the response nor its time reveals whether the user exists.
func (s *Service) Recover(ctx context.Context, by db.Caller, email string) error {
	email = identity.NormalizeEmail(email)
	if err := s.attempt(ctx, by, mailboxes.Of(email)); err != nil {
		return err
	}
	select {
	case s.recoveries <- recovery{by, email}:
	default: // the queue is full: drop this one as silently as an unknown address
	}
	return nil
}

// Run sends recovery links until ctx ends.
func (s *Service) Run(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case r := <-s.recoveries:
			if err := s.recover(ctx, r); err != nil && ctx.Err() == nil {
				log.Warn("a link could not be made", "request_id", r.by.RequestID, "error", err.Error())
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) recover(ctx context.Context, r recovery) error {
	p, err := s.byEmail(ctx, r.email)
	if err != nil || p.status != "active" {
		return err
	}
	_, err = db.Write(ctx, s.db, r.by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		var made bool
		var err error
		if err = lockPerson(tx, p.actor.ID); err == nil {
			made, err = s.links.Recover(tx, p.actor.ID, p.actor.Email)
		}
		if err != nil || !made {
			return struct{}{}, audit.None("a link was mailed a moment ago"), err
		}
		return struct{}{}, audit.Event{Action: audit.LinkCreated, ResourceID: p.actor.ID, Actor: &p.actor,
			Description: "Asked for a link to set up how they sign in"}, err
	})
	return err
}
