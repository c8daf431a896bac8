package directory

import (
	"context"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
)

// maxCount is where counting stops: a larger number is not more useful, and costs as much time as there are rows.
const maxCount = 10_000

// Count is a number up to 10,000. More reports that there are more.
type Count struct {
	N    int
	More bool
}

// Counts are the numbers of entries and tags in the directory of a workspace. Inactive
// includes people and organizations.
type Counts struct{ People, Organizations, Inactive, Tags Count }

// Counts counts the entries and tags of a workspace.
func (s *Service) Counts(ctx context.Context, by db.Caller, workspaceID string) (Counts, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, workspaceID, access.DirectoryRead)
	if err != nil {
		return Counts{}, err
	}
	var people, organizations, inactive, tags int
	err = s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(countAll, workspace, maxCount+1, api.TypePerson, api.TypeOrganization, api.StatusInactive, workspaceID).
			Scan(&people, &organizations, &inactive, &tags)
		return err
	})
	return Counts{People: bounded(people), Organizations: bounded(organizations), Inactive: bounded(inactive), Tags: bounded(tags)}, err
}

func bounded(n int) Count { return Count{N: min(n, maxCount), More: n > maxCount} }

const countAll = `SELECT
	(SELECT count(*) FROM (SELECT 1 FROM directory_entry WHERE workspace_number = $1 AND type = $3 AND deleted_at IS NULL LIMIT $2) p),
	(SELECT count(*) FROM (SELECT 1 FROM directory_entry WHERE workspace_number = $1 AND type = $4 AND deleted_at IS NULL LIMIT $2) o),
	(SELECT count(*) FROM (SELECT 1 FROM directory_entry WHERE workspace_number = $1 AND status = $5 AND deleted_at IS NULL LIMIT $2) i),
	(SELECT count(*) FROM (SELECT 1 FROM directory_tag WHERE workspace_id = $6 LIMIT $2) t)`
