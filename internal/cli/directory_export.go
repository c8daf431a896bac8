package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
)

func newDirectoryExport(r *remote) *cobra.Command {
	var p client.DirectoryExportParams
	var fields []string
	c := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write entries to a CSV or NDJSON file that 'import' reads",
		Long: `Write the entries of the workspace, in the order of --sort, to a file or to
standard output. 'bursar directory import' can read the file: it updates the
entries with these ids, or with --map id= creates new ones, for example in
another workspace. All entries are as they were at one moment, and the log
records the export.

CSV has a column for each property and each field. The column of a field is
fields.KEY if all its values are texts. Otherwise (numbers, booleans, lists,
objects, empty texts) it is json.KEY and contains JSON, so that an import
restores the same values; only the order of the fields is lost. NDJSON keeps
everything.

CSV is safe to open as a spreadsheet: a cell that starts like a formula, with
= + - or @, has an ' before it, which 'import' takes away. --raw omits it, for
machines; import such a file with --raw, too.

The file appears when it is complete. Receiving methods that can be paid, with
their account numbers, are in it if you hold the permission ws.receiving.read.`,
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
			p.Fields = strings.Join(fields, ",")
			return r.exportEntries(c, name, p)
		},
	}
	flags := c.Flags()
	flags.StringVar(&p.Type, "type", "", "only entries of this type: person or organization")
	flags.StringVar(&p.Status, "status", "", "only entries with this status: active or inactive")
	flags.StringVar(&p.Tag, "tag", "", "only entries with this tag, by name or id")
	flags.StringVarP(&p.Query, "search", "q", "", "only entries with these words")
	flags.StringVar(&p.Sort, "sort", "", "`order`: created, updated or label, with a minus from the end (default -created)")
	completeWords(c, "sort", api.EntrySorts())
	flags.StringVar(&p.Format, "format", "", "csv or ndjson; default by the name of the file, else csv")
	flags.StringVar(&p.Delimiter, "delimiter", "", "column separator of a CSV file: a character, or tab (default ,)")
	flags.StringSliceVar(&fields, "fields", nil, "only these fields, in this order")
	flags.BoolVar(&p.Raw, "raw", false, term.RawUsage)
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "status", api.EntryStatuses())
	completeWords(c, "format", entryfile.Formats())
	completeFlag(c, "tag", tags().completion(r))
	r.bindWorkspace(c)
	return c
}

func (r *remote) exportEntries(c *cobra.Command, name string, p client.DirectoryExportParams) error {
	ctx := c.Context()
	if p.Format == "" {
		p.Format = formatOf(name)
	}
	if p.Format == "" {
		p.Format = entryfile.CSV
	}
	if strings.EqualFold(filepath.Ext(name), ".tsv") && p.Delimiter == "" {
		p.Delimiter = "tab"
	}
	err := errors.Join(oneOf("format", p.Format, entryfile.Formats()), oneOf("type", p.Type, api.EntryTypes()), oneOf("status", p.Status, api.EntryStatuses()),
		oneOf("sort", p.Sort, api.EntrySorts()))
	if _, bad := entryfile.ParseDelimiter(p.Delimiter); bad != nil {
		err = errors.Join(err, term.Usagef("--delimiter %w", bad))
	}
	if err != nil {
		return err
	}
	s, err := r.connect()
	if err != nil {
		return err
	}
	w, err := r.call(ctx, s).here()
	if err != nil {
		return err
	}
	p.WorkspaceID = w.ID
	n := recordCounter{csv: p.Format == entryfile.CSV}
	write := func(to io.Writer) error { return s.Directory.Export(ctx, p, io.MultiWriter(to, &n)) }
	title := name
	if name == "-" {
		title, err = "standard output", write(r.terminal.Out)
	} else {
		err = writeWhole(name, write)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("the export was interrupted; no file was written")
	case err != nil:
		return fmt.Errorf("export the directory of %s: %w", w.Name, err)
	}
	if n.csv {
		n.records-- // the header
	}
	return r.say("Exported %s from %s to %s.", counted(n.records, "entry", "entries"), w.Name, title)
}
