package client

import (
	"context"
	"io"
	"iter"
	"strconv"
	"time"

	"bursar/api"
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
	return list(ctx, s.c, api.ListAudit, p.query())
}

// Get reads one row. Of the parameters, only WorkspaceID and OrganizationID apply.
func (s *AuditService) Get(ctx context.Context, p AuditListParams, id string) (*AuditEntry, error) {
	return runWith(ctx, s.c, api.GetAuditEntry, p.log(0), id)
}

// Feed reads rows of the log after a position, oldest first. If there are none, the server waits for them, for at most half a minute.
// Cursor does not apply, and Limit may be up to 1000. To see every row once, call Feed again with the After of the result.
func (s *AuditService) Feed(ctx context.Context, p AuditListParams, after int64, wait time.Duration) (*AuditFeed, error) {
	p.Cursor = ""
	q := p.query().text("after", strconv.FormatInt(after, 10)).text("wait", strconv.Itoa(int(wait.Seconds())))
	return runWith(ctx, s.c, api.FollowAudit, q)
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
	return download(ctx, s.c, api.ExportAudit, p.query().text("format", format), w)
}

// Proof returns a proof that a row is in the log, for anyone who has the public key of the log. since is the size of an older checkpoint
// that the proof extends, or 0.
func (s *AuditService) Proof(ctx context.Context, p AuditListParams, id string, since int64) (*AuditProof, error) {
	return runWith(ctx, s.c, api.ProveAuditEntry, p.log(since), id)
}

// ProofFile writes the whole log of a workspace or an organization with its proof. `bursar audit verify` reads the file. Of the parameters,
// only WorkspaceID and OrganizationID apply. since is the size of an older checkpoint that the proof extends, or 0. The export itself is
// recorded in the log.
func (s *AuditService) ProofFile(ctx context.Context, p AuditListParams, since int64, w io.Writer) error {
	return download(ctx, s.c, api.ExportAuditProof, p.log(since), w)
}

// log returns the query of a log, with the size of an older checkpoint or 0.
func (p AuditListParams) log(since int64) query {
	q := query{}.text("workspace_id", p.WorkspaceID).text("organization_id", p.OrganizationID)
	if since > 0 {
		q = q.text("since", strconv.FormatInt(since, 10))
	}
	return q
}

// All iterates over the whole log, newest first.
func (s *AuditService) All(ctx context.Context, p AuditListParams) iter.Seq2[AuditEntry, error] {
	return all(ctx, s.c, api.ListAudit, p.query())
}
