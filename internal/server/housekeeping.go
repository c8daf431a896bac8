package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/transfer"
	"bursar/internal/mail"
	"bursar/internal/payout/control"
	"bursar/internal/work"
)

// housekeepingInterval is how often expired rows are removed.
const housekeepingInterval = time.Minute

// RunBackground runs the background work until ctx ends. It deletes expired data, imports files, hands
// payouts to rails, sends mail and completes account recoveries. It sequences and signs the audit log,
// erases its expired personal data, and checks the ledger. Every node runs it; several nodes do not
// interfere.
func (s *Server) RunBackground(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(func() { s.mail.Run(ctx) })
	others.Go(func() { s.signin.Run(ctx, s.log.Logger) })
	others.Go(func() { s.audit.Sequencer().Run(ctx, s.log.Logger) })
	others.Go(func() { s.audit.Signer().Run(ctx) })
	others.Go(func() { s.retention.Run(ctx, s.log.Logger) })
	others.Go(func() { s.transfer.RunImports(ctx, s.log.Logger) })
	others.Go(func() { s.transfer.RunDecisions(ctx, s.log.Logger) })
	others.Go(func() { s.dispatcher.Run(ctx) })
	others.Go(func() { s.books.Run(ctx, s.log.Logger) })
	defer others.Wait()
	work.Every(ctx, housekeepingInterval, func() {
		if err := s.Tidy(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("housekeeping failed and will be retried", "error", err.Error())
		}
	})
}

// Tidy deletes expired rows once.
func (s *Server) Tidy(ctx context.Context) error {
	by := db.SystemCaller()
	_, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		exempt := audit.None("expired rows end without an actor")
		if err := tx.DeleteExpiredIdempotencyKeys(); err != nil {
			return struct{}{}, exempt, err
		}
		if err := errors.Join(budget.Expire(tx), transfer.ExpireImports(tx), directory.ExpireMerges(tx), control.ExpireUsed(tx), mail.Expire(tx)); err != nil {
			return struct{}{}, exempt, err
		}
		if err := s.vault.Expire(tx); err != nil {
			return struct{}{}, exempt, err
		}
		return struct{}{}, exempt, s.identity.Expire(tx)
	})
	if err != nil {
		return err
	}
	return errors.Join(s.directory.Purge(ctx), s.directory.Settle(ctx), s.approvals.Expire(ctx), s.approvals.Notify(ctx), s.approvals.TellVacancies(ctx))
}
