package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
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

// AuditListParams select rows of the audit log. Set either WorkspaceID or OrganizationID. OrganizationID selects the rows that belong to no
// workspace.
type AuditListParams struct {
	WorkspaceID    string
	OrganizationID string
	Actor          string // the id of a user or machine client
	Action         string // such as directory.entry.created
	ResourceType   string // such as directory_entry
	ResourceID     string
	EntryID        string    // a directory entry, for its history, including that of its receiving methods
	KeyID          string    // an API key, for actions with it, with keys created with it, and with their successors
	Outcome        string    // OutcomeSuccess, OutcomeDenied or OutcomeFailure
	From, To       time.Time // zero for no bound
	Limit          int       // page size, 1 to 100
	Cursor         string
}

func (p AuditListParams) query() query {
	return ListParams{p.Limit, p.Cursor}.query().text("workspace_id", p.WorkspaceID).text("organization_id", p.OrganizationID).
		text("actor", p.Actor).text("action", p.Action).text("resource_type", p.ResourceType).text("resource_id", p.ResourceID).
		text("entry_id", p.EntryID).text("key_id", p.KeyID).text("outcome", p.Outcome).time("from", p.From).time("to", p.To)
}

// List reads one page of the log, newest first.
func (s *AuditService) List(ctx context.Context, p AuditListParams) (*Page[AuditEntry], error) {
	return list[AuditEntry](ctx, s.c, p.query(), "/audit")
}

// Get reads one row. Of the parameters, only WorkspaceID and OrganizationID apply.
func (s *AuditService) Get(ctx context.Context, p AuditListParams, id string) (*AuditEntry, error) {
	path, err := route("/audit", id)
	if err != nil {
		return nil, err
	}
	q := query{}.text("workspace_id", p.WorkspaceID).text("organization_id", p.OrganizationID)
	return fetch[AuditEntry](ctx, s.c, &call{method: http.MethodGet, path: path, query: url.Values(q)})
}

// Feed reads rows of the log after a position, oldest first. If there are none, the server waits for them, for at most half a minute.
// Cursor does not apply, and Limit may be up to 1000. To see every row once, call Feed again with the After of the result.
func (s *AuditService) Feed(ctx context.Context, p AuditListParams, after int64, wait time.Duration) (*AuditFeed, error) {
	p.Cursor = ""
	q := p.query().text("after", strconv.FormatInt(after, 10)).text("wait", strconv.Itoa(int(wait.Seconds())))
	return fetch[AuditFeed](ctx, s.c, &call{method: http.MethodGet, path: "/audit/feed", query: url.Values(q)})
}

// The formats of an export of the audit log.
const (
	ExportCSV    = "csv"
	ExportRawCSV = "csv-raw" // for programs: does not put ' before values that a spreadsheet would run
	ExportNDJSON = "ndjson"
)

// Export writes the matching rows, newest first, as a file in a format. Limit and Cursor do not apply. The rows are streamed, so the file
// may have any length, and the timeout restarts with each part. The file is complete only if there is no error. The export itself is
// recorded in the log.
func (s *AuditService) Export(ctx context.Context, p AuditListParams, format string, w io.Writer) error {
	p.Limit, p.Cursor = 0, ""
	_, _, err := s.c.send(ctx, &call{method: http.MethodGet, path: "/audit/export", query: url.Values(p.query().text("format", format)), file: w})
	return err
}

// Proof returns a proof that a row is in the log, for anyone who has the public key of the log. since is the size of an older checkpoint
// that the proof extends, or 0.
func (s *AuditService) Proof(ctx context.Context, p AuditListParams, id string, since int64) (*AuditProof, error) {
	return fetch[AuditProof](ctx, s.c, &call{method: http.MethodGet, path: "/audit/" + url.PathEscape(id) + "/proof", query: p.proof(since)})
}

// ProofFile writes the whole log of a workspace or an organization with its proof. `bursar audit verify` reads the file. Of the parameters,
// only WorkspaceID and OrganizationID apply. since is the size of an older checkpoint that the proof extends, or 0. The export itself is
// recorded in the log.
func (s *AuditService) ProofFile(ctx context.Context, p AuditListParams, since int64, w io.Writer) error {
	_, _, err := s.c.send(ctx, &call{method: http.MethodGet, path: "/audit/proof", query: p.proof(since), file: w})
	return err
}

func (p AuditListParams) proof(since int64) url.Values {
	q := AuditListParams{WorkspaceID: p.WorkspaceID, OrganizationID: p.OrganizationID}.query()
	if since > 0 {
		q = q.text("since", strconv.FormatInt(since, 10))
	}
	return url.Values(q)
}

// All iterates over the whole log, newest first.
func (s *AuditService) All(ctx context.Context, p AuditListParams) iter.Seq2[AuditEntry, error] {
	return walk(p.Cursor, func(cursor string) (*Page[AuditEntry], error) {
		page := p
		page.Limit, page.Cursor = pageSize(p.Limit), cursor
		return s.List(ctx, page)
	})
}
