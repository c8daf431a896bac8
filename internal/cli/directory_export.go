package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
)

func newDirectoryExport(r *remote) *cobra.Command {
	var in exportInputs
	return newTask(r, inWorkspace, &in, &cobra.Command{
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
	}, func(c *call) error { return exportEntries(c, &in) })
}

// exportInputs are the inputs of 'directory export'.
type exportInputs struct {
	File      string     `files:"true"`
	Search    string     `flag:"search,q" usage:"only entries with these words"`
	Format    fileFormat `flag:"format" usage:"csv or ndjson; default by the name of the file, else csv"`
	Delimiter delimiter  `flag:"delimiter" usage:"column separator of a CSV file: a character, or tab (default ,)"`
	Fields    []string   `flag:"fields" usage:"only these fields, in this order"`
	Raw       rawCSV
	Tag       tagName `flag:"tag" usage:"only entries with this tag, by name or id"`
	entryKind
	entrySorting
}

func exportEntries(c *call, in *exportInputs) error {
	name := cmp.Or(in.File, "-")
	filter := entryFilter{in.entryKind, in.Tag}
	p := client.DirectoryExportParams{DirectoryListParams: filter.params(c, in.Search, in.Sort),
		Format:    cmp.Or(string(in.Format), formatOf(name), entryfile.CSV),
		Delimiter: in.Delimiter.of(name), Fields: strings.Join(in.Fields, ","), Raw: in.Raw.on}
	n := recordCounter{csv: p.Format == entryfile.CSV}
	write := func(to io.Writer) error { return c.Directory.Export(c, p, io.MultiWriter(to, &n)) }
	title, err := name, error(nil)
	if name == "-" {
		title, err = "standard output", write(c.r.terminal.Out)
	} else {
		err = writeWhole(name, write)
	}
	switch {
	case c.Err() != nil:
		return errors.New("the export was interrupted; no file was written")
	case err != nil:
		return fmt.Errorf("export the directory of %s: %w", c.workspace.Name, err)
	}
	if n.csv {
		n.records-- // the header
	}
	c.say("Exported %s from %s to %s.", counted(n.records, "entry", "entries"), c.workspace.Name, title)
	return nil
}

// rawCSV is the flag --raw of a command that writes CSV to a file.
type rawCSV struct{ on bool }

func (r *rawCSV) bind(_ *remote, c *cobra.Command) {
	c.Flags().BoolVar(&r.on, "raw", false, term.RawUsage)
}
