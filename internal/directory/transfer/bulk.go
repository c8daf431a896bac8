package transfer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// A bulk is stored like an import: its file has the id of an entry on each line, and its options contain the change. Up to api.MaxBulk
// entries are changed immediately, in one transaction. A larger bulk waits to be run like an import.

// restoreAtOnce is how many entries are restored in one transaction. Each requests approval of all its receiving methods, and on
// SQLite all other writes wait for that.
const restoreAtOnce = 100

// bulkOptions are the options of a bulk.
type bulkOptions struct {
	directory.Bulk
	Entries int64 `json:"entries"`
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

func (i job) bulk(int64) api.Bulk {
	o := i.options.Bulk
	return api.Bulk{
		ID: i.ID, WorkspaceID: i.WorkspaceID, Action: o.Action, Tag: o.TagName, Undoes: o.Undoes, Status: i.Status, Entries: o.Entries,
		Changed: i.Updated, Unchanged: i.Unchanged, Refused: i.Refused, Reason: i.Reason,
		CreatedAt: i.CreatedAt, StartedAt: i.StartedAt, EndedAt: i.EndedAt, ApprovalID: i.approvalID,
	}
}

// bulkJob is a job that changes many entries.
type bulkJob struct{ job }

func (bulkJob) name() string { return directory.BulkKind }

func (i bulkJob) needs() access.Permission { return bulkNeeds(i.options.Bulk.Action) }

func (bulkJob) open(source io.Reader) (jobFile, error) { return newBulkFile(source), nil }

func (i bulkJob) applier(a *directory.Applier) directory.RowApplier {
	return a.ForBulk(i.options.Bulk.Bulk)
}

func (i bulkJob) change() jobChange { return jobChange{Bulk: i.options.Bulk.Action} }

func (i bulkJob) event(action audit.Action, _ string) (event audit.Event) {
	o := i.options.Bulk
	what := o.Action
	if o.TagName != "" {
		what += " (" + o.TagName + ")"
	}
	switch action {
	case audit.ImportStarted:
		event.Action, event.Description = audit.BulkStarted, fmt.Sprintf("Started a change of %d entries: %s", o.Entries, what)
	case audit.ImportCancelled:
		event.Action, event.Description = audit.BulkCancelled, fmt.Sprintf("Cancelled a change of %d entries after %d: %s", o.Entries, i.Lines, what)
	case audit.ImportFailed:
		event.Action, event.Description = audit.BulkFailed, fmt.Sprintf("Gave up a change of %d entries after %d: %s", o.Entries, i.Lines, what)
	default:
		event.Action, event.Description = audit.BulkCompleted,
			fmt.Sprintf("Changed %d of %d entries: %s, %d unchanged, %d refused", i.Updated, o.Entries, what, i.Unchanged, i.Refused)
	}
	if o.Undoes != "" {
		event.Description += ", which undoes " + o.Undoes
	}
	return event
}

// bulkFile reads the lines of a bulk. Each is the id of an entry; if a deletion is undone, the time at which the entry was deleted follows
// it.
type bulkFile struct {
	in *bufio.Reader
	at entryfile.Position
}

func newBulkFile(in io.Reader) *bulkFile { return &bulkFile{in: bufio.NewReader(in)} }

func (f *bulkFile) Next() (*entryfile.Row, error) {
	line, err := f.in.ReadString('\n')
	if err != nil {
		return nil, err // includes a last line without an end, which no bulk writes
	}
	f.at.Offset, f.at.Lines = f.at.Offset+int64(len(line)), f.at.Lines+1
	return &entryfile.Row{Line: f.at.Lines, ID: strings.TrimSuffix(line, "\n")}, nil
}

func (f *bulkFile) Position() entryfile.Position { return f.at }

func (f *bulkFile) Resume(in io.Reader, at entryfile.Position) { f.in, f.at = bufio.NewReader(in), at }

// refuse keeps the reason of the first refusal, which is enough.
func (f *bulkFile) refuse(i *job, row *entryfile.Row, why string) []byte {
	if i.Reason == "" {
		i.Reason = row.ID + ": " + why
	}
	return nil
}

// Bulk makes one change to many entries: immediately, or as a job if there are more than api.MaxBulk.
func (s *Service) Bulk(ctx context.Context, by db.Caller, in BulkInput) (api.Bulk, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, bulkNeeds(in.Action))
	if err != nil {
		return api.Bulk{}, err
	}
	b := bulk{tag: in.Tag}
	b.row = newBulk(in.WorkspaceID, workspace, directory.Bulk{Action: in.Action})
	if in.Filter == nil {
		b.lines = []byte(strings.Join(in.IDs, "\n") + "\n")
		return s.startBulk(ctx, by, b, nil)
	}
	all, err := s.directory.Select(ctx, by, in.list, nil)
	if err != nil {
		return api.Bulk{}, err
	}
	if b.lines, err = all.First(ctx, api.MaxBulk+1, "filter.q"); err != nil {
		return api.Bulk{}, err
	}
	return s.startBulk(ctx, by, b, all.WriteIDs)
}

// bulk is a bulk that is about to begin.
type bulk struct {
	row   job
	tag   *string // as it was given
	lines []byte  // the first lines of its file, all of them unless they are too many
}

func newBulk(workspaceID string, workspace int64, change directory.Bulk) job {
	return job{record: record{WorkspaceID: workspaceID, Workspace: workspace}, options: importOptions{Bulk: &bulkOptions{Bulk: change}}}
}

// startBulk runs a bulk immediately, or queues it. all writes the whole file of a queued one.
func (s *Service) startBulk(ctx context.Context, by db.Caller, b bulk, all func(ctx context.Context, to io.Writer) error) (api.Bulk, error) {
	held, err := s.authority.Permissions(ctx, by.Actor, b.row.WorkspaceID)
	if err == nil {
		err = s.vault.Ready(ctx, b.row.Workspace)
	}
	if err != nil {
		return api.Bulk{}, err
	}
	b.row.ID, b.row.actor = s.db.NewID("bulk"), by.Actor
	b.row.options.Bulk.Entries = int64(bytes.Count(b.lines, []byte("\n")))
	most := int64(api.MaxBulk)
	if b.row.options.Bulk.Action == api.BulkRestore {
		most = restoreAtOnce
	}
	if b.row.options.Bulk.Entries > most {
		return s.queueBulk(ctx, by, b, held, all)
	}
	file := newBulkFile(bytes.NewReader(b.lines))
	rows := nextRows(file, api.MaxBulk+1)
	rules := directory.Rules{WorkspaceID: b.row.WorkspaceID, Workspace: b.row.Workspace, Held: held, JobID: b.row.ID}
	return directory.Apply(ctx, s.directory, by, rules, func(tx *db.Tx, a *directory.Applier) (api.Bulk, error) {
		i := b.row
		options := *i.options.Bulk
		i.options.Bulk = &options
		if err := b.resolveTag(tx, &options, held); err != nil {
			return api.Bulk{}, err
		}
		i.Status, i.Node, i.StartedAt = api.ImportRunning, rand.Text(), tx.Now()
		if err := insertJob(tx, i); err != nil {
			return api.Bulk{}, err
		}
		i, err := s.applyRows(tx, a, i, file, rows, false)
		if err != nil {
			return api.Bulk{}, err
		}
		done, err := s.endJob(tx, i.ID, i.Node, api.ImportCompleted, i.Reason)
		return done.bulk(tx.Now()), err
	})
}

// resolveTag finds the tag of a bulk. A bulk that adds a tag can create it.
func (b bulk) resolveTag(tx *db.Tx, options *bulkOptions, held access.Set) error {
	if b.tag == nil {
		return nil
	}
	return options.ResolveTag(tx, b.row.WorkspaceID, *b.tag, held)
}

// queueBulk stores the file of a bulk and queues it.
func (s *Service) queueBulk(ctx context.Context, by db.Caller, b bulk, held access.Set, all func(ctx context.Context, to io.Writer) error) (api.Bulk, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	file, to := io.Pipe()
	go func() { to.CloseWithError(all(ctx, to)) }()
	lines := &lineCounter{in: file}
	first, err := readPiece(lines, make([]byte, uploadPiece))
	if err == nil {
		err = s.upload(ctx, by, b.row, first, lines)
	}
	_ = file.CloseWithError(context.Canceled) // lets the writer end in any case
	if err != nil {
		return api.Bulk{}, s.abandon(ctx, b.row, err)
	}
	queued, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (api.Bulk, audit.Event, error) {
		options := *b.row.options.Bulk
		options.Entries = lines.n
		if err := b.resolveTag(tx, &options, held); err != nil {
			return api.Bulk{}, audit.Event{}, err
		}
		text, err := json.Marshal(importOptions{Bulk: &options})
		if err != nil {
			return api.Bulk{}, audit.Event{}, fmt.Errorf("store the options of a bulk: %w", err)
		}
		i, err := oneJob(tx.Q, `UPDATE directory_import SET status = 'queued', lease_until = $2, options = $3 WHERE id = $1 RETURNING `+jobColumns,
			b.row.ID, tx.Now(), string(text))
		if err != nil {
			return api.Bulk{}, audit.Event{}, err
		}
		return i.bulk(tx.Now()), i.event(audit.ImportStarted, ""), nil
	})
	if err != nil {
		return api.Bulk{}, s.abandon(ctx, b.row, err)
	}
	s.queued.Send()
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

// GetBulk returns the state of a bulk.
func (s *Service) GetBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	i, err := s.get(ctx, by, directory.BulkKind, in.ID)
	if err != nil {
		return api.Bulk{}, err
	}
	return i.bulk(s.db.Now()), nil
}

// CancelBulk ends a bulk that has not ended. Its changes stay until they are undone.
func (s *Service) CancelBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	return cancel(ctx, s, by, directory.BulkKind, in.ID, job.bulk)
}

// UndoBulk undoes the changes of a bulk, by another bulk. It restores those of the changed entries that still have the values that the bulk
// gave them.
func (s *Service) UndoBulk(ctx context.Context, by db.Caller, in OneBulkInput) (api.Bulk, error) {
	i, err := s.find(ctx, by, directory.BulkKind, in.ID, job.needs) // the opposite needs the same
	if err != nil {
		return api.Bulk{}, err
	}
	o := i.options.Bulk
	if i.EndedAt == 0 {
		return api.Bulk{}, fault.Invalid("id", "is that of a bulk that has not ended: wait for it, or cancel it")
	}
	b := bulk{row: newBulk(i.WorkspaceID, i.Workspace, directory.Bulk{Action: opposite(o.Action), Undoes: i.ID})}
	if o.TagID != "" {
		b.tag = &o.TagID
	}
	changed := func(ctx context.Context, to io.Writer) error {
		_, err := io.Copy(to, s.part(ctx, i, partChanged))
		return err
	}
	b.lines = bytes.Repeat([]byte("\n"), int(min(i.Updated, api.MaxBulk+1))) // too many to run at once: only their number matters
	if i.Updated <= api.MaxBulk {
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

	list directory.ListInput // the filter
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
		if db.PackID("entry", id) == nil { // also refuses an id with an end of line in it, which would be two lines
			v.Add("ids", "must be ids of entries")
			break
		}
	}
	if in.Filter != nil {
		in.list = directory.OfBulk(v, in.WorkspaceID, in.Filter)
	}
}

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
