package payout

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
)

// maxStory bounds how many rows of the audit log a story has: the latest ones.
const maxStory = 200

// Story contains the audit rows of a payout, newest first, and the attempts to send it, oldest first.
type Story struct {
	Steps    []api.AuditEntry
	Attempts []api.PayoutAttempt
}

// Story returns the story of a payout. Reading it takes the permission to read the payout, and not the one to read the whole log. Denied
// requests are only in the log.
func (s *Service) Story(ctx context.Context, by db.Caller, in Input) (story Story, err error) {
	p, _, err := s.authorize(ctx, by, in.ID, access.PayoutsRead)
	if err != nil {
		return story, err
	}
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		story = Story{}
		if story.Attempts, err = attempts(q, p.ID); err != nil {
			return err
		}
		var id []byte
		return q.Each(func(r db.Rows) error {
			id = db.AppendID(id[:0], "aud", r.Raw(0))
			row, err := audit.ReadStored(string(id), r.Raw(1), r.Raw(2), 0)
			if err == nil && row.Outcome != string(audit.Denied) && r.Int(3) == p.WorkspaceNumber {
				story.Steps = append(story.Steps, row)
			}
			return err
		}, `SELECT id, entry, personal, workspace_number FROM audit_log WHERE resource_id_key = $1 ORDER BY id DESC LIMIT $2`,
			audit.FilterKey(audit.ByResource, p.WorkspaceID, p.ID), maxStory)
	})
	return story, err
}
