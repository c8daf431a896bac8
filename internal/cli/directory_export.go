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

// exportFlags are the flags of the export.
type exportFlags struct {
	kind, status, tag, words string
	format, delimiter        string
	fields                   []string
	noTags, raw              bool
	parallel                 int
	wait                     time.Duration
}

func newDirectoryExport(r *remote) *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write entries to a CSV or NDJSON file that 'import' reads",
		Long: `Write the entries of the workspace, newest first, to a file or to standard
output. 'bursar directory import' can read the file: it updates the entries
with these ids, or with --map id= creates new ones, for example in another
workspace.

CSV has a column for each property and each field. The column of a field is
fields.KEY if all its values are texts. Otherwise (numbers, booleans, lists,
objects, empty texts) it is json.KEY and contains JSON, so that an import
restores the same values; only the order of the fields is lost. The columns
are known only after all entries are read, so the file is written at the end.
NDJSON keeps everything and is written entry by entry.

CSV is safe to open as a spreadsheet: a cell that starts like a formula, with
= + - or @, has an ' before it, which 'import' takes away. --raw omits it, for
machines; import such a file with --raw, too.

Names and tags take a request for each entry; --no-tags omits them and is
faster. The file appears when it is complete. Receiving methods are not
exported.`,
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
	flags.StringVar(&f.tag, "tag", "", "only entries with this tag, by name or id")
	flags.StringVarP(&f.words, "search", "q", "", "only entries with these words")
	flags.StringVar(&f.format, "format", "", "csv or ndjson; default by the name of the file, else csv")
	flags.StringVar(&f.delimiter, "delimiter", "", "column separator of a CSV file: a character, or tab (default ,)")
	flags.StringSliceVar(&f.fields, "fields", nil, "only these fields, in this order")
	flags.BoolVar(&f.noTags, "no-tags", false, "omit names and tags, which take a request for each entry")
	flags.BoolVar(&f.raw, "raw", false, term.RawUsage)
	flags.IntVar(&f.parallel, "parallel", 8, "number of entries to read at a time, 1 to 64")
	flags.DurationVar(&f.wait, "wait", 2*time.Minute, "how long to wait for a server that does not answer")
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "status", api.EntryStatuses())
	completeWords(c, "format", fileFormats())
	completeFlag(c, "tag", r.completeTags())
	return r.inWorkspace(c)
}

// check decides on the format and checks the flags.
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

// entryWriter writes entries in one of the formats.
type entryWriter interface {
	write(e *api.Entry) error
	// finish writes what needs all entries.
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
		to = &csvEntries{to: file, comma: comma, raw: f.raw, chosen: f.fields, whole: !f.noTags, spool: spool}
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
		return errors.New("the export was interrupted; no file was written")
	case err != nil:
		return fmt.Errorf("export the directory of %s: %w", w.Name, err)
	}
	return r.say("Exported %s from %s to %s.", counted(n, "entry", "entries"), w.Name, file.title())
}

// readEntries reads the entries and writes them in the order of the list.
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

// listed returns the entries of the directory. It retries a page that fails, so that
// the export need not start over.
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

// wholeEntry adds what the list does not contain. It returns nil if the entry was
// deleted in the meantime.
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
