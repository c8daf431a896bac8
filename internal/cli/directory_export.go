package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// exportFlags are what is exported, and how.
type exportFlags struct {
	kind, status, tag, words string
	format, delimiter        string
	fields                   []string
	noTags                   bool
	parallel                 int
	wait                     time.Duration
}

func newDirectoryExport(r *remote) *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write entries to a CSV or NDJSON file that 'import' reads",
		Long: `Write the entries of the workspace, newest first, to a file, or to standard output.
'bursar directory import' reads it: with the ids it updates these entries, with
--map id= it makes new ones, in another workspace for example.

CSV has a column for each property and each field. fields.KEY holds texts as they
are. Where a field has other values as well (numbers, truth values, lists, objects,
empty texts), its column is json.KEY and holds JSON, so that all comes back as it
was; the order of fields alone is not kept. The columns are known when all entries
are, so the file is written at the end. NDJSON keeps everything and is written as
the entries come.

Values are written exactly, so that they can be imported again. A spreadsheet takes
a text that begins with = + - or @ for a formula: open files with entries of people
you do not trust with the columns set to text.

Name and tags are read entry by entry; --no-tags leaves them out and is faster. A
file appears under its name when it is complete. Receiving methods are not exported.`,
		Example: `  bursar directory export people.csv
  bursar directory export --type person --tag speaker speakers.ndjson
  bursar directory export --fields email,phone > contacts.csv
  bursar directory export --format ndjson | jq -r .label`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := "-"
			if len(args) == 1 {
				name = args[0]
			}
			return r.exportEntries(c.Context(), name, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.kind, "type", "", "only entries of this type: person or organization")
	flags.StringVar(&f.status, "status", "", "only entries with this status: active or inactive")
	flags.StringVar(&f.tag, "tag", "", "only entries that carry this tag, by name or id")
	flags.StringVarP(&f.words, "search", "q", "", "only entries with these words")
	flags.StringVar(&f.format, "format", "", "csv or ndjson; else by the name of the file, or csv")
	flags.StringVar(&f.delimiter, "delimiter", "", "what separates the columns of a CSV file: a character, or tab (default ,)")
	flags.StringSliceVar(&f.fields, "fields", nil, "only these fields, in this order")
	flags.BoolVar(&f.noTags, "no-tags", false, "leave out names and tags, which are read entry by entry")
	flags.IntVar(&f.parallel, "parallel", 8, "how many entries are read at a time, 1 to 64")
	flags.DurationVar(&f.wait, "wait", 2*time.Minute, "how long to wait for a server that does not answer")
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "status", api.EntryStatuses())
	completeWords(c, "format", fileFormats())
	completeFlag(c, "tag", r.completeTags())
	return r.inWorkspace(c)
}

// check settles the format.
func (f *exportFlags) check(name string) (comma rune, err error) {
	comma, err = parseDelimiter(f.delimiter)
	if f.format == "" {
		f.format = formatOf(name)
	}
	if f.format == "" {
		f.format = formatCSV
	}
	if comma == 0 {
		comma = ','
		if strings.EqualFold(filepath.Ext(name), ".tsv") {
			comma = '\t'
		}
	}
	return comma, errors.Join(err, oneOf("format", f.format, fileFormats()), oneOf("type", f.kind, api.EntryTypes()),
		oneOf("status", f.status, api.EntryStatuses()), checkParallel(f.parallel))
}

// entryWriter writes entries in a format.
type entryWriter interface {
	write(e *api.Entry) error
	// finish writes what could not be written before.
	finish() error
}

func (r *remote) exportEntries(ctx context.Context, name string, f exportFlags) (err error) {
	comma, err := f.check(name)
	if err != nil {
		return err
	}
	s, err := r.connect()
	if err != nil {
		return err
	}
	w, err := r.currentWorkspace(ctx, s)
	if err != nil {
		return err
	}
	file, err := newExportFile(name, r.terminal.Out)
	if err != nil {
		return err
	}
	defer file.abandon()
	var to entryWriter = newNDJSONEntries(file)
	if f.format == formatCSV {
		spool, err := newSpool(file.folder())
		if err != nil {
			return err
		}
		defer spool.close()
		to = &csvEntries{to: file, comma: comma, chosen: f.fields, whole: !f.noTags, spool: spool}
	}
	n, err := r.readEntries(ctx, s, w, f, to)
	if err == nil {
		err = to.finish()
	}
	if err == nil {
		err = file.keep()
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("the export was interrupted: nothing was kept")
	case err != nil:
		return fmt.Errorf("export the directory of %s: %w", w.Name, err)
	}
	return r.say("Exported %s from %s to %s.", counted(n, "entry", "entries"), w.Name, file.title())
}

// readEntries reads what is asked for and writes it in the order of the list.
func (r *remote) readEntries(ctx context.Context, s *session, w api.Workspace, f exportFlags, to entryWriter) (n int, err error) {
	p := term.NewProgress(r.terminal, "entries", 0)
	defer p.Close()
	retries := &retrier{wait: f.wait, note: p.Note}
	want := client.DirectoryListParams{WorkspaceID: w.ID, Type: f.kind, Status: f.status, Tag: f.tag, Query: f.words, Limit: 100}
	err = inOrder(ctx, f.parallel, listed(ctx, s, retries, want),
		func(ctx context.Context, e api.EntrySummary) (*api.Entry, error) {
			return wholeEntry(ctx, s, retries, f, e)
		},
		func(e *api.Entry) error {
			if e == nil {
				return nil
			}
			n++
			p.Set(n, 0, 0)
			return to.write(e)
		})
	return n, err
}

// listed walks over the directory. A page that cannot be had for the moment is
// asked for again, without beginning anew.
func listed(ctx context.Context, s *session, retries *retrier, want client.DirectoryListParams) iter.Seq2[api.EntrySummary, error] {
	return func(yield func(api.EntrySummary, error) bool) {
		for {
			var page *client.Page[client.EntrySummary]
			err := retries.call(ctx, func() (err error) {
				page, err = s.Directory.List(ctx, want)
				return err
			})
			if err != nil {
				yield(api.EntrySummary{}, err)
				return
			}
			for _, e := range page.Items {
				if !yield(e, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			want.Cursor = page.Cursor
		}
	}
}

// wholeEntry reads what the list does not tell; it returns nil if the entry is gone.
func wholeEntry(ctx context.Context, s *session, retries *retrier, f exportFlags, e api.EntrySummary) (*api.Entry, error) {
	out := &api.Entry{ID: e.ID, Type: e.Type, Label: e.Label, Status: e.Status, Fields: e.Fields}
	if !f.noTags {
		err := retries.call(ctx, func() (err error) {
			out, err = s.Directory.Get(ctx, e.ID)
			return err
		})
		if client.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if f.fields != nil {
		out.Fields = only(out.Fields, f.fields)
	}
	return out, nil
}

// only returns the fields with the given keys, in the order of the keys.
func only(f api.Fields, keys []string) api.Fields {
	out := api.Fields{}
	for _, key := range keys {
		if one, ok := f.Get(key); ok {
			out = append(out, one)
		}
	}
	return out
}

type ndjsonEntries struct{ out *bufio.Writer }

func newNDJSONEntries(to io.Writer) *ndjsonEntries { return &ndjsonEntries{bufio.NewWriter(to)} }

func (w *ndjsonEntries) write(e *api.Entry) error {
	_, err := w.out.Write(append(exportedJSON(e), '\n'))
	return err
}

func (w *ndjsonEntries) finish() error { return w.out.Flush() }
