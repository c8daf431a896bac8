package client

import (
	"context"
	"iter"
	"time"
)

// AuditService reads the audit log: who did what, and when.
type AuditService struct{ c *Client }

// The outcomes of entries of the audit log.
const (
	OutcomeSuccess = "success"
	OutcomeDenied  = "denied"
	OutcomeFailure = "failure"
)

// AuditListParams select rows of the audit log. Either WorkspaceID or OrganizationID is
// required; the latter selects what belongs to no workspace.
type AuditListParams struct {
	WorkspaceID    string
	OrganizationID string
	Actor          string // the id of a user or machine client
	Action         string // such as directory.entry.created
	ResourceType   string // such as directory_entry
	ResourceID     string
	Outcome        string    // OutcomeSuccess, OutcomeDenied or OutcomeFailure
	From, To       time.Time // zero for no bound
	Limit          int       // of a page, 1 to 100
	Cursor         string
}

// List reads one page of the log, newest first.
func (s *AuditService) List(ctx context.Context, p AuditListParams) (*Page[AuditEntry], error) {
	q := ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("organization_id", p.OrganizationID).
		text("actor", p.Actor).text("action", p.Action).text("resource_type", p.ResourceType).text("resource_id", p.ResourceID).
		text("outcome", p.Outcome).time("from", p.From).time("to", p.To)
	return list[AuditEntry](ctx, s.c, q, "/audit")
}

// All iterates over the whole log, newest first.
func (s *AuditService) All(ctx context.Context, p AuditListParams) iter.Seq2[AuditEntry, error] {
	return walk(p.Cursor, func(cursor string) (*Page[AuditEntry], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.List(ctx, page)
	})
}
