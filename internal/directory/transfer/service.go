// Package transfer imports files into a directory, exports it, and changes many entries at once. Imports and large bulks are jobs: stored,
// run in the background by whichever node has the lease, and continued by another one if that dies.
package transfer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
	"bursar/internal/vault"
	"bursar/internal/web"
	"bursar/internal/work"
)

// Service transfers entries into directories and out of them.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	directory *directory.Service

	queued  work.Signal
	decided work.Signal   // wakes the loop that carries out decisions
	own     atomic.Uint64 // writes of jobs

	mu     sync.Mutex
	others uint64    // the number of all other writes, when last read
	busy   time.Time // when the last other write was seen
}

// New returns the service.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service, entries *directory.Service) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, directory: entries,
		queued: make(work.Signal, importSlots), decided: make(work.Signal, 1)}
	approvals.Register(s.jobApprovals(directory.ImportKind, approval.Actions(audit.ImportApproved, audit.ImportRejected,
		audit.ImportWithdrawn, audit.ImportExpired)))
	approvals.Register(s.jobApprovals(directory.BulkKind, approval.Actions(audit.BulkApproved, audit.BulkRejected,
		audit.BulkWithdrawn, audit.BulkExpired)))
	return s
}

// yielding reports whether there was another write a moment ago.
func (s *Service) yielding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if others := s.db.Writes() - s.own.Load(); others != s.others {
		s.others, s.busy = others, now
	}
	return now.Sub(s.busy) < politeTime
}

// find requires a permission in the workspace of a job of a kind, and returns the job.
func (s *Service) find(ctx context.Context, by db.Caller, kind, id string, need func(job) access.Permission) (job, error) {
	var i job
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		if i, err = findJob(q, id); i.kind().name() != kind {
			i = job{}
		}
		return err
	})
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, i.WorkspaceID, need(i))
	}
	return i, fault.Replace(err, api.CodeNotFound, fault.Missing(kind))
}

// cancel ends a job that has not ended. Its changes stay.
func cancel[T any](ctx context.Context, s *Service, by db.Caller, kind, id string, wire func(i job, now int64) T) (none T, err error) {
	i, err := s.find(ctx, by, kind, id, job.needs)
	if err == nil {
		err = s.vault.Ready(ctx, i.Workspace)
	}
	if err != nil {
		return none, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (T, audit.Event, error) {
		done, err := s.endJob(tx, i.ID, "", api.ImportCancelled, "")
		if err == nil && done.ID == "" {
			done, err = findJob(tx.Q, i.ID)
			return wire(done, tx.Now()), audit.None("the job has ended"), err
		}
		return wire(done, tx.Now()), done.event(audit.ImportCancelled, "Cancelled"), err
	})
}

// get requires the permission to read the directory of a job, and returns the job with the approval of its lines.
func (s *Service) get(ctx context.Context, by db.Caller, kind, id string) (job, error) {
	i, err := s.find(ctx, by, kind, id, func(job) access.Permission { return access.DirectoryRead })
	if err == nil {
		err = s.db.Read(ctx, func(q db.Q) (err error) {
			i.approvalID, err = approval.Of(q, i.ID)
			return err
		})
	}
	return i, err
}
