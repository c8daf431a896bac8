package transfer

import (
	"fmt"
	"io"

	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
)

// jobKind is what the two kinds of jobs do differently: an import, and a bulk.
type jobKind interface {
	// name is directory.ImportKind or directory.BulkKind.
	name() string
	// needs returns the permission that the job needs to continue.
	needs() access.Permission
	// open begins to read the file.
	open(source io.Reader) (jobFile, error)
	// applier returns what applies the rows of the file.
	applier(a *directory.Applier) directory.RowApplier
	// event returns the event for an action of imports.
	event(action audit.Action, verb string) audit.Event
	// change returns what the approval of the job is for, without its lines.
	change() jobChange
}

// jobFile is the file of a job.
type jobFile interface {
	Next() (*entryfile.Row, error)
	Position() entryfile.Position
	Resume(in io.Reader, at entryfile.Position)
	// refuse records in the job why a row was refused, and returns what the file of refused lines gets.
	refuse(i *job, row *entryfile.Row, why string) []byte
}

func (i job) kind() jobKind {
	if i.options.Bulk != nil {
		return bulkJob{i}
	}
	return importJob{i}
}

func (i job) needs() access.Permission { return i.kind().needs() }

func (i job) event(action audit.Action, verb string) audit.Event {
	event := i.kind().event(action, verb)
	event.WorkspaceID, event.ResourceID = i.WorkspaceID, i.ID
	return event
}

// importJob is a job that imports a file.
type importJob struct{ job }

func (importJob) name() string { return directory.ImportKind }

func (importJob) needs() access.Permission { return access.DirectoryWrite }

func (i importJob) open(source io.Reader) (jobFile, error) {
	file, err := entryfile.Open(source, i.options.file(i.WorkspaceID))
	return importFile{file}, err
}

func (importJob) applier(a *directory.Applier) directory.RowApplier { return a }

func (i importJob) event(action audit.Action, verb string) audit.Event {
	what := "an import"
	if i.options.DryRun {
		what = "a rehearsal of an import"
	}
	text := verb + " " + what + " into the directory"
	if action == audit.ImportCompleted {
		text += fmt.Sprintf(": %d created, %d updated, %d unchanged, %d refused", i.Created, i.Updated, i.Unchanged, i.Refused)
	}
	return audit.Event{Action: action, Description: text}
}

func (i importJob) change() jobChange { return jobChange{File: i.options.Name} }

// importFile is a file that is imported. What it refuses can be downloaded.
type importFile struct{ entryfile.Reader }

func (f importFile) refuse(i *job, row *entryfile.Row, why string) (lines []byte) {
	if i.Refused == 0 {
		lines = f.RefusedHead()
	}
	return append(lines, f.Refused(row, why)...)
}
