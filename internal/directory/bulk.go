package directory

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// A bulk is stored like an import: its file has the id of an entry on each line, and its options contain the change. Up to api.MaxBulk
// entries are changed immediately, in one transaction. A larger bulk waits to be run like an import.

// restoreAtOnce is how many entries are restored in one transaction. Each requests approval of up to maxMethods receiving methods, and on
// SQLite all other writes wait for that.
const restoreAtOnce = 100

// bulkOptions are the options of a bulk.
type bulkOptions struct {
	Action  string `json:"action"`
	TagID   string `json:"tag_id,omitzero"`
	TagName string `json:"tag_name,omitzero"`
	Entries int64  `json:"entries"`
	Undoes  string `json:"undoes,omitzero"`
}

// opposite returns the action that undoes another.
func opposite(action string) string {
	return map[string]string{
		api.BulkTag: api.BulkUntag, api.BulkUntag: api.BulkTag, api.BulkActivate: api.BulkDeactivate,
		api.BulkDeactivate: api.BulkActivate, api.BulkDelete: api.BulkRestore, api.BulkRestore: api.BulkDelete,
	}[action]
}

// bulkNeeds returns the permission for an action.
func bulkNeeds(action string) access.Permission {
	if action == api.BulkDelete || action == api.BulkRestore {
		return access.DirectoryDelete
	}
	return access.DirectoryWrite
}

// needs returns the permission that an import, or a bulk, needs to continue.
func (i importRow) needs() access.Permission {
	if i.options.Bulk == nil {
		return access.DirectoryWrite
	}
	return bulkNeeds(i.options.Bulk.Action)
}

func (i importRow) bulk(int64) api.Bulk {
	o := i.options.Bulk
	return api.Bulk{
		ID: i.id, WorkspaceID: i.workspaceID, Action: o.Action, Tag: o.TagName, Undoes: o.Undoes, Status: i.status, Entries: o.Entries,
		Changed: i.updated, Unchanged: i.unchanged, Refused: i.refused, Reason: i.reason,
		CreatedAt: i.createdAt, StartedAt: i.startedAt, EndedAt: i.endedAt, ApprovalID: i.approvalID,
	}
}

// bulkEvent returns the event of a bulk that corresponds to an action of imports.
func (i importRow) bulkEvent(action audit.Action) audit.Event {
	o := i.options.Bulk
	what := o.Action
	if o.TagName != "" {
		what += " (" + o.TagName + ")"
	}
	event := audit.Event{WorkspaceID: i.workspaceID, ResourceID: i.id}
	switch action {
	case audit.ImportStarted:
		event.Action, event.Description = audit.BulkStarted, fmt.Sprintf("Started a change of %d entries: %s", o.Entries, what)
	case audit.ImportCancelled:
		event.Action, event.Description = audit.BulkCancelled, fmt.Sprintf("Cancelled a change of %d entries after %d: %s", o.Entries, i.lines, what)
	case audit.ImportFailed:
		event.Action, event.Description = audit.BulkFailed, fmt.Sprintf("Gave up a change of %d entries after %d: %s", o.Entries, i.lines, what)
	default:
		event.Action, event.Description = audit.BulkCompleted,
			fmt.Sprintf("Changed %d of %d entries: %s, %d unchanged, %d refused", i.updated, o.Entries, what, i.unchanged, i.refused)
	}
	if o.Undoes != "" {
		event.Description += ", which undoes " + o.Undoes
	}
	return event
}

// Bulk makes one change to many entries: immediately, or as a job if there are more than api.MaxBulk.
func (s *Service) Bulk(ctx context.Context, by db.Caller, in BulkInput) (api.Bulk, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, bulkNeeds(in.Action))
	if err != nil {
		return api.Bulk{}, err
	}
	b := bulk{tag: in.Tag}
	b.row = importRow{workspaceID: in.WorkspaceID, workspace: workspace}
	b.row.options.Bulk = &bulkOptions{Action: in.Action}
	if in.Filter == nil {
		b.lines = []byte(strings.Join(in.IDs, "\n") + "\n")
		return s.startBulk(ctx, by, b, nil)
	}
	if _, err := s.authority.Held(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead); err != nil { // the number of matches reveals what they contain
		return api.Bulk{}, err
	}
	f, err := s.matching(ctx, by, in.WorkspaceID, workspace, *in.Filter, in.words)
	if err != nil {
		return api.Bulk{}, err
	}
	if b.lines, err = s.firstMatches(ctx, f, api.MaxBulk+1); err != nil {
		return api.Bulk{}, err
	}
	return s.startBulk(ctx, by, b, func(ctx context.Context, to io.Writer) error { return s.allMatches(ctx, f, to) })
}

// matching returns the filter of the entries of a bulk.
func (s *Service) matching(ctx context.Context, by db.Caller, workspaceID string, workspace int64, in api.BulkFilter, words []string) (f filter, err error) {
	f = filter{workspace: workspace, kind: in.Type, status: in.Status, external: in.ExternalID, words: words}
	if f.tails, err = s.lastDigits(ctx, by, workspaceID, workspace, in.Q); err != nil || in.Tag == nil {
		return f, err
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		id, found, err := findTagID(q, workspaceID, *in.Tag)
		f.tagID, f.none = id, !found
		return err
	})
	return f, err
}

// firstMatches returns the ids of the first matching entries, each on a line, up to a number of them.
func (s *Service) firstMatches(ctx context.Context, f filter, most int) (lines []byte, err error) {
	if f.none {
		return nil, nil
	}
	f.take = most
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		lines, _, err = f.idLines(q)
		return err
	})
	if len(f.words) > 0 && tookTooLong(ctx, err) {
		return nil, fault.Invalid("filter.q", "takes too long to look for: add a word or a filter")
	}
	return lines, err
}

// Matches counts the entries that a bulk with a filter would change.
func (s *Service) Matches(ctx context.Context, by db.Caller, in MatchInput) (Count, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return Count{}, err
	}
	f, err := s.matching(ctx, by, in.WorkspaceID, workspace, in.BulkFilter, in.words)
	if err != nil {
		return Count{}, err
	}
	lines, err := s.firstMatches(ctx, f, maxCount+1)
	return bounded(bytes.Count(lines, []byte("\n"))), err
}

// allMatches writes the ids of all matching entries as of one moment.
func (s *Service) allMatches(ctx context.Context, f filter, to io.Writer) error {
	f.take = exportPage
	return s.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		for {
			lines, last, err := f.idLines(q)
			if err != nil || last == "" {
				return err
			}
			if _, err := to.Write(lines); err != nil {
				return err
			}
			f.after = last
		}
	})
}

// idLines returns the ids of a page of entries, each on a line, and the last of them.
func (f filter) idLines(q db.Q) (lines []byte, last string, err error) {
	sql, err := f.statement(q, `SELECT e.id FROM `)
	if err != nil {
		return nil, "", err
	}
	err = q.EachOf(sql, func(r db.Rows) error {
		last = db.UnpackID("entry", r, 0)
		lines = append(append(lines, last...), '\n')
		return nil
	})
	return lines, last, err
}

// bulk is a bulk that is about to begin.
type bulk struct {
	row   importRow
	tag   *string // as it was given
	lines []byte  // the first lines of its file, all of them unless they are too many
}

// startBulk runs a bulk immediately, or queues it. all writes the whole file of a queued one.
func (s *Service) startBulk(ctx context.Context, by db.Caller, b bulk, all func(ctx context.Context, to io.Writer) error) (api.Bulk, error) {
	held, err := s.authority.Permissions(ctx, by.Actor, b.row.workspaceID)
	if err == nil {
		err = s.vault.Ready(ctx, b.row.workspace)
	}
	if err != nil {
		return api.Bulk{}, err
	}
	b.row.id, b.row.actor = s.db.NewID("bulk"), by.Actor
	b.row.options.Bulk.Entries = int64(bytes.Count(b.lines, []byte("\n")))
	most := int64(api.MaxBulk)
	if b.row.options.Bulk.Action == api.BulkRestore {
		most = restoreAtOnce
	}
	if b.row.options.Bulk.Entries > most {
		return s.queueBulk(ctx, by, b, held, all)
	}
	file := newBulkFile(bytes.NewReader(b.lines))
	rows, err := file.all()
	if err != nil {
		return api.Bulk{}, err
	}
	many := applier{editor: &editor{service: s, workspaceID: b.row.workspaceID, workspace: b.row.workspace, held: held}, job: true}
	return applyMany(ctx, by, many, func(a *applier) (api.Bulk, error) {
		i := b.row
		options := *i.options.Bulk
		i.options.Bulk, a.bulk = &options, &options
		if err := options.resolveTag(a.tx, b, held); err != nil {
			return api.Bulk{}, err
		}
		if err := insertUpload(a.tx, i, 0); err != nil {
			return api.Bulk{}, err
		}
		i.claim = rand.Text()
		if err := a.tx.Exec(`UPDATE directory_import SET status = 'running', node = $2, started_at = $3 WHERE id = $1`,
			i.id, i.claim, a.tx.Now()); err != nil {
			return api.Bulk{}, err
		}
		i, err := s.applyRows(a, i, file, batch{rows: rows, at: file.Position()}, false)
		if err != nil {
			return api.Bulk{}, err
		}
		done, err := s.endJob(a.tx, i.id, i.claim, api.ImportCompleted, i.reason)
		return done.bulk(a.tx.Now()), err
	})
}

// queueBulk stores the file of a bulk and queues it.
func (s *Service) queueBulk(ctx context.Context, by db.Caller, b bulk, held access.Set, all func(ctx context.Context, to io.Writer) error) (api.Bulk, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	file, to := io.Pipe()
	go func() { to.CloseWithError(all(ctx, to)) }()
	lines := &lineCounter{in: file}
	first := make([]byte, uploadPiece)
	n, err := io.ReadFull(lines, first)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = s.upload(ctx, by, b.row, first[:n], lines)
	}
	_ = file.CloseWithError(context.Canceled) // lets the writer end in any case
	if err != nil {
		return api.Bulk{}, s.abandon(ctx, b.row, err)
	}
	queued, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Bulk, audit.Event, error) {
		options := *b.row.options.Bulk
		options.Entries = lines.n
		if err := options.resolveTag(tx, b, held); err != nil {
			return api.Bulk{}, audit.Event{}, err
		}
		text, err := json.Marshal(importOptions{Bulk: &options})
		if err != nil {
			return api.Bulk{}, audit.Event{}, fmt.Errorf("store the options of a bulk: %w", err)
		}
		i, err := oneImport(tx.Q, `UPDATE directory_import SET status = 'queued', lease_until = $2, options = $3 WHERE id = $1 RETURNING `+importColumns,
			b.row.id, tx.Now(), string(text))
		if err != nil {
			return api.Bulk{}, audit.Event{}, err
		}
		return i.bulk(tx.Now()), i.event(audit.ImportStarted, ""), nil
	})
	if err != nil {
		return api.Bulk{}, s.abandon(ctx, b.row, err)
	}
	s.imports.wake.Send()
	return queued, nil
}

// lineCounter counts the lines that are read.
type lineCounter struct {
	in io.Reader
	n  int64
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(bytes.Count(p[:n], []byte("\n")))
	return n, err
}

// resolveTag finds the tag of a bulk. A bulk that adds a tag can create it.
func (o *bulkOptions) resolveTag(tx *db.Tx, b bulk, held access.Set) error {
	if b.tag == nil {
		return nil
	}
	t, found, err := findTag(tx, b.row.workspaceID, *b.tag)
	switch {
	case err != nil:
		return err
	case found:
	case o.Action == api.BulkUntag, looksLikeTagID(*b.tag):
		return fault.Invalid("tag", "is not a tag of the workspace")
	case !held.Has(access.TagsWrite):
		denied := fault.Denied(string(access.TagsWrite), fault.Scope{WorkspaceID: b.row.workspaceID})
		denied.Message += " to create the tag " + *b.tag
		return denied
	default:
		if t, err = makeTag(tx, b.row.workspaceID, *b.tag); err != nil {
			return err
		}
	}
	o.TagID, o.TagName = t.ID, t.Name
	return nil
}

// mayBulk requires the permission that need returns, in the workspace of a bulk, and returns the bulk.
func (s *Service) mayBulk(ctx context.Context, by db.Caller, id string, need func(importRow) access.Permission) (importRow, error) {
	var i importRow
	err := s.db.Read(ctx, func(q db.Q) (err error) {
		i, err = findImport(q, id)
		return err
	})
	if i.options.Bulk == nil {
		i = importRow{}
	}
	if err == nil {
		err = s.authority.RequireInWorkspace(ctx, by.Actor, i.workspaceID, need(i))
	}
	return i, fault.Replace(err, api.CodeNotFound, fault.Missing("bulk"))
}

// GetBulk returns the state of a bulk.
func (s *Service) GetBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	i, err := s.mayBulk(ctx, by, in.ID, func(importRow) access.Permission { return access.DirectoryRead })
	if err != nil {
		return api.Bulk{}, err
	}
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		i.approvalID, err = approval.Of(q, i.id)
		return err
	})
	return i.bulk(s.db.Now()), err
}

// CancelBulk ends a bulk that has not ended. Its changes stay until they are undone.
func (s *Service) CancelBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	i, err := s.mayBulk(ctx, by, in.ID, importRow.needs)
	if err != nil {
		return api.Bulk{}, err
	}
	return cancelImport(ctx, s, by, i, importRow.bulk)
}

// UndoBulk undoes the changes of a bulk, by another bulk. It restores those of the changed entries that still have the values that the bulk
// gave them.
func (s *Service) UndoBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	i, err := s.mayBulk(ctx, by, in.ID, importRow.needs) // the opposite needs the same
	if err != nil {
		return api.Bulk{}, err
	}
	o := i.options.Bulk
	if i.endedAt == 0 {
		return api.Bulk{}, fault.Invalid("id", "is that of a bulk that has not ended: wait for it, or cancel it")
	}
	b := bulk{row: importRow{workspaceID: i.workspaceID, workspace: i.workspace}}
	b.row.options.Bulk = &bulkOptions{Action: opposite(o.Action), Undoes: i.id}
	if o.TagID != "" {
		b.tag = &o.TagID
	}
	changed := func(ctx context.Context, to io.Writer) error {
		_, err := io.Copy(to, &chunkReader{ctx: ctx, service: s, row: i, part: partChanged})
		return err
	}
	b.lines = bytes.Repeat([]byte("\n"), int(min(i.updated, api.MaxBulk+1))) // too many to run at once: only their number matters
	if i.updated <= api.MaxBulk {
		var lines bytes.Buffer
		if err := changed(ctx, &lines); err != nil {
			return api.Bulk{}, err
		}
		b.lines = lines.Bytes()
	}
	return s.startBulk(ctx, by, b, changed)
}

// BulkInput contains the entries to change, and the change.
type BulkInput struct {
	api.BulkCreate

	words []string
}

// Validate checks the request without reading the database.
func (in *BulkInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "action", &in.Action, api.BulkActions()...)
	switch tags := in.Action == api.BulkTag || in.Action == api.BulkUntag; {
	case tags && in.Tag == nil:
		v.Add("tag", "is required to "+in.Action)
	case !tags && in.Tag != nil:
		v.Add("tag", "must be absent unless the action is tag or untag")
	case tags:
		*in.Tag = strings.TrimSpace(*in.Tag)
		web.CheckReference(v, "tag", *in.Tag, 1, api.MaxTagName)
	}
	switch {
	case (in.Filter == nil) == (in.IDs == nil):
		v.Add("ids", "must be given, or else filter")
	case len(in.IDs) > api.MaxBulk:
		v.Add("ids", fmt.Sprintf("must have at most %d elements: use filter", api.MaxBulk))
	}
	for _, id := range in.IDs {
		if stored(id) == nil { // also refuses an id with an end of line in it, which would be two lines
			v.Add("ids", "must be ids of entries")
			break
		}
	}
	if in.Filter != nil {
		in.words = checkFilter(v, in.Filter)
	}
}

// checkFilter checks a filter, and returns its search words.
func checkFilter(v *fault.Violations, f *api.BulkFilter) (words []string) {
	web.CheckOneOf(v, "filter.type", f.Type, api.EntryTypes()...)
	web.CheckOneOf(v, "filter.status", f.Status, api.EntryStatuses()...)
	if f.Q == nil {
		return nil
	}
	if words = searchWords(v, "filter.q", *f.Q); len(words) == 0 {
		v.Add("filter.q", "must have a word: without one all entries would match")
	}
	return words
}

// MatchInput is a request for the number of matching entries.
type MatchInput struct {
	WorkspaceID string
	api.BulkFilter

	words []string
}

// Validate checks the filter without reading the database.
func (in *MatchInput) Validate(v *fault.Violations) { in.words = checkFilter(v, &in.BulkFilter) }

// Cost returns how many requests the bulk counts as for the rate limit. The number of matching entries is not known yet.
func (in *BulkInput) Cost() int {
	if in.Filter != nil {
		return api.MaxBulk / api.BatchCost
	}
	return max(1, (len(in.IDs)+api.BatchCost-1)/api.BatchCost)
}

// OneBulkInput names a bulk.
type OneBulkInput struct {
	ID string `path:"id"`
}
