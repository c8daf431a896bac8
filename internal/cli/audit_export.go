package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bursar/client"
	"bursar/internal/cli/term"
)

func newAuditExport(r *remote) *cobra.Command {
	var q auditQuery
	var form string
	var raw, proof bool
	c := &cobra.Command{
		Use: "export FILE|-", Short: "Write the audit log to a file",
		Long: `Write entries of the audit log, newest first, to a file or to standard output
(-). Without --format, files that end in .ndjson or .jsonl get JSON, with one
entry on each line; all others get CSV with a header, which is safe to open as
a spreadsheet. The file is replaced when the export is complete, and only you
can read it. You need the permission ws.audit.export, and the log records the
export.

With --proof, the file is a zip archive of the whole log with what proves that
it is complete and unchanged, for 'bursar audit verify'. Filters do not apply,
and --since is a file with an older checkpoint that the proof leads on from.
` + auditFilters,
		Example: `  bursar audit export audit.csv --since 2026-01-01 --until 2026-03-31
  bursar audit export audit.ndjson --action directory.entry.deleted
  bursar audit export - --format ndjson | gzip > audit.ndjson.gz
  bursar audit export --proof log.zip --since old.checkpoint`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if proof {
				return q.exportProof(c, r, args[0])
			}
			form, err := exportForm(form, args[0])
			if err != nil {
				return err
			}
			a, err := q.source(c.Context(), r)
			if err != nil {
				return err
			}
			n := recordCounter{csv: form == client.ExportCSV}
			if n.csv && raw {
				form = client.ExportRawCSV
			}
			write := func(w io.Writer) error {
				return a.Audit.Export(c.Context(), a.p, form, io.MultiWriter(w, &n))
			}
			if args[0] == "-" {
				err = write(r.terminal.Out)
			} else {
				err = writeWhole(args[0], write)
			}
			if err != nil {
				return fmt.Errorf("export the audit log: %w", err)
			}
			if args[0] != "-" {
				if n.csv {
					n.records-- // the header
				}
				fmt.Fprintf(r.terminal.Err, "Exported %s to %s.\n", counted(n.records, "entry", "entries"), args[0])
			}
			return nil
		},
	}
	c.Flags().StringVar(&form, "format", "", "csv or ndjson")
	c.Flags().BoolVar(&raw, "raw", false, term.RawUsage)
	c.Flags().BoolVar(&proof, "proof", false, "the whole log with its proof, as a zip archive")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{client.ExportCSV, client.ExportNDJSON}, cobra.ShellCompDirectiveNoFileComp))
	q.bind(r, c)
	return c
}

// recordCounter counts the records that are written to it. It counts lines, but not line breaks within a quoted CSV cell.
type recordCounter struct {
	records     int
	csv, quoted bool
}

func (c *recordCounter) Write(text []byte) (int, error) {
	for _, char := range text {
		switch {
		case char == '"' && c.csv:
			c.quoted = !c.quoted
		case char == '\n' && !c.quoted:
			c.records++
		}
	}
	return len(text), nil
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

func exportForm(form, file string) (string, error) {
	switch form {
	case client.ExportCSV, client.ExportNDJSON:
		return form, nil
	case "":
		if end := strings.ToLower(filepath.Ext(file)); end == ".ndjson" || end == ".jsonl" {
			return client.ExportNDJSON, nil
		}
		return client.ExportCSV, nil
	}
	return "", term.Usagef("--format must be csv or ndjson, not %q", form)
}

// writeWhole writes a file that appears only when it is complete. It replaces a link and does not follow it. A device or a pipe cannot be
// replaced and is written directly.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return unwritable(path, err)
		}
		return errors.Join(write(file), file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return unwritable(path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err = write(file); err == nil {
		err = unwritable(path, file.Sync())
	}
	if err = errors.Join(err, unwritable(path, file.Close())); err != nil {
		return err
	}
	return unwritable(path, os.Rename(file.Name(), path))
}

// unwritable makes an error name the requested file, not the temporary one.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	var at *fs.PathError
	var moved *os.LinkError
	if errors.As(err, &at) {
		err = at.Err
	} else if errors.As(err, &moved) {
		err = moved.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
