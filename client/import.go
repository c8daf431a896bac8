package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"

	"bursar/api"
)

// ImportParams set how a file is imported. Only WorkspaceID is required.
type ImportParams struct {
	WorkspaceID string
	Format      string            // ExportCSV or ExportNDJSON; detected if empty
	Mapping     map[string]string // the column that each header means; an empty value omits the column
	DefaultType string            // type of new entries whose line has none
	Match       string            // what identifies an existing entry: id, external_id, email, phone or account
	OnMatch     string            // update, skip or refuse
	DryRun      bool
	OnDuplicate string // allow, warn or refuse; the workspace's setting if empty
	Hold        bool   // hold the file until StartImport
	Name        string // file name, for lists of imports
	Delimiter   string // delimiter of a CSV file; detected from the header if empty
	Raw         bool   // the CSV file has no escapes for spreadsheets
}

func (p ImportParams) query() (query, error) {
	q := query{}.text("workspace_id", p.WorkspaceID).text("format", p.Format).text("default_type", p.DefaultType).
		text("match", p.Match).text("on_match", p.OnMatch).text("delimiter", p.Delimiter).text("on_duplicate", p.OnDuplicate).text("name", p.Name)
	if p.Hold {
		q = q.text("hold", strconv.FormatBool(true))
	}
	if p.DryRun {
		q = q.text("dry_run", strconv.FormatBool(true))
	}
	if p.Raw {
		q = q.text("raw", strconv.FormatBool(true))
	}
	if len(p.Mapping) > 0 {
		text, err := json.Marshal(p.Mapping)
		if err != nil {
			return nil, fmt.Errorf("bursar: encode the mapping: %w", err)
		}
		q = q.text("mapping", string(text))
	}
	return q, nil
}

// Import sends a file and returns its import, which the server runs. A retry sends the file again. The timeout restarts with each part of
// the file. replayed reports that the same file was sent before with the same idempotency key. In that case, the earlier import is
// returned.
func (s *DirectoryService) Import(ctx context.Context, p ImportParams, file io.ReadSeeker) (started *Import, replayed bool, err error) {
	q, err := p.query()
	if err != nil {
		return nil, false, err
	}
	op := &call{method: api.StartImport.Method(), path: api.StartImport.Path(), query: q, upload: file}
	response, _, err := s.c.send(ctx, op)
	if err != nil {
		return nil, false, err
	}
	started = new(Import)
	err = decode(op, response, &envelope{Data: started})
	return started, response.Header.Get("Idempotent-Replayed") == "true", err
}

// GetImport reads the state of an import.
func (s *DirectoryService) GetImport(ctx context.Context, id string) (*Import, error) {
	return run(ctx, s.c, api.GetImport, id)
}

// StartImport starts the import of a file that was sent with Hold, or its dry run.
func (s *DirectoryService) StartImport(ctx context.Context, id string, p ImportStart) (*Import, error) {
	return submit(ctx, s.c, api.StartHeldImport, p, id)
}

// CancelImport cancels an import. Changes already made stay.
func (s *DirectoryService) CancelImport(ctx context.Context, id string) (*Import, error) {
	return run(ctx, s.c, api.CancelImport, id)
}

// Imports reads one page of the imports of a workspace, newest first.
func (s *DirectoryService) Imports(ctx context.Context, workspaceID string, p ListParams) (*Page[Import], error) {
	return list(ctx, s.c, api.ListImports, p.query().text("workspace_id", workspaceID))
}

// AllImports iterates over the imports of a workspace, newest first.
func (s *DirectoryService) AllImports(ctx context.Context, workspaceID string, p ListParams) iter.Seq2[Import, error] {
	return all(ctx, s.c, api.ListImports, p.query().text("workspace_id", workspaceID))
}

// RefusedLines writes the lines that an import refused, ready to be corrected and imported.
func (s *DirectoryService) RefusedLines(ctx context.Context, id string, w io.Writer) error {
	return download(ctx, s.c, api.DownloadRefusedLines, nil, w, id)
}

// ImportPlan writes the dry-run result of each line, as one [ImportLine] in JSON per line.
func (s *DirectoryService) ImportPlan(ctx context.Context, id string, w io.Writer) error {
	return download(ctx, s.c, api.DownloadImportPlan, nil, w, id)
}

// DirectoryExportParams select the entries to export and their format. Limit and Cursor of the list do not apply.
type DirectoryExportParams struct {
	DirectoryListParams
	Format    string // ExportCSV or ExportNDJSON
	Fields    string // comma-separated; only these
	Delimiter string
	Raw       bool
	IDs       string // comma-separated, 100 at most; other filters then do not apply
}

// Export writes the matching entries, newest first, as a file that Import accepts. The entries are streamed. The file is complete only if
// there is no error.
func (s *DirectoryService) Export(ctx context.Context, p DirectoryExportParams, w io.Writer) error {
	p.Limit, p.Cursor = 0, ""
	q := p.query().text("format", p.Format).text("fields", p.Fields).text("delimiter", p.Delimiter).text("ids", p.IDs)
	if p.Raw {
		q = q.text("raw", strconv.FormatBool(true))
	}
	return download(ctx, s.c, api.ExportDirectory, q, w)
}

// Batch creates and updates up to 1,000 entries and returns the result of each.
func (s *DirectoryService) Batch(ctx context.Context, b Batch) (*BatchResult, error) {
	return submit(ctx, s.c, api.BatchEntries, b)
}
