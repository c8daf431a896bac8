package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
)

// importFlags are how a file is read and imported.
type importFlags struct {
	format, delimiter string
	mapping           []string
	kind              string
	dry, again, raw   bool
	parallel          int
	journal, refused  string
	wait              time.Duration
}

func newDirectoryImport(r *remote) *cobra.Command {
	var f importFlags
	var out term.Format
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Create and update entries from a CSV or NDJSON file",
		Long: `Import entries from a file, or from standard input where FILE is "-". A line
without an id makes an entry; a line with the id of an entry updates it.

CSV files begin with a line that names the columns. They are UTF-8, separated
by commas, semicolons or tabs. A column goes where its header says:

  id, type, label, name, status   the property of the entry
  tags                            names or ids, separated by |  (\| is a | in
                                  a name; a lone | removes all tags); new
                                  ones need the permission ws.tags.write
  fields.KEY                      the field KEY, as a text
  json.KEY                        the field KEY, as JSON: 42, true,
                                  {"city":"Rome"}; null removes the field
  anything else                   the field of that name, as a text; "E-Mail",
                                  "First Name" and the like are the
                                  well-known fields

An empty cell says nothing: in an update what is there stays. An ' before a
cell that starts like a formula, with = + - or @, is taken away, because
'export' adds it; --raw keeps it. --map sends a column elsewhere, or leaves it
out. NDJSON files have one JSON object a line, with the members that 'bursar
api POST /directory' takes, or as 'export' writes them; there --map moves
members.

An import that was interrupted goes on where it was, if you run the same
command again: FILE.bursar-import remembers which lines are done, and each new
entry has an idempotency key made of the workspace, the number of the line and
what it says. So nothing is made twice, and running it once more does nothing.
Keep that file as long as FILE may be imported again. With standard input,
--journal keeps it. --again forgets it and imports every line once more.

Lines that cannot be imported are written to FILE.refused.csv (or .ndjson)
with the reason. Mend them there and import that file, or in FILE and import
it again. The exit code is 1 where a line was refused. Neither file may be a
symbolic link.`,
		Example: `  bursar directory import people.csv --dry-run
  bursar directory import people.csv --type person
  bursar directory import contacts.csv --type person --map "Full name=name" --map "Notes="
  bursar directory export | bursar directory import - --workspace archive --map id=
  bursar directory import - --format ndjson --journal today.journal < people.ndjson`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return r.importEntries(c.Context(), args[0], f, out) },
	}
	f.bind(c)
	r.inWorkspace(c)
	out.Bind(c, false)
	return c
}

func (f *importFlags) bind(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.format, "format", "", "csv or ndjson; else by the name of the file, or by how it begins")
	flags.StringVar(&f.delimiter, "delimiter", "", "what separates the columns of a CSV file: a character, or tab; else by its header")
	flags.BoolVar(&f.raw, "raw", false, "keep the ' before what a spreadsheet would run: the file was exported with --raw")
	flags.StringArrayVar(&f.mapping, "map", nil, "HEADER=COLUMN: where a column goes; HEADER= leaves it out (may be repeated)")
	flags.StringVar(&f.kind, "type", "", "what lines without a type are: person or organization")
	flags.BoolVar(&f.dry, "dry-run", false, "show line by line what would be done, and change nothing")
	flags.BoolVar(&f.again, "again", false, "import every line once more, also what was imported before")
	flags.IntVar(&f.parallel, "parallel", 8, "how many lines are sent at a time, 1 to 64; 1 makes entries in the order of the lines")
	flags.StringVar(&f.journal, "journal", "", "remember here which lines are done (default FILE.bursar-import)")
	flags.StringVar(&f.refused, "refused", "", "write refused lines here (default FILE.refused.csv or .ndjson)")
	flags.DurationVar(&f.wait, "wait", 2*time.Minute, "how long to wait for a server that does not answer")
	completeWords(c, "format", fileFormats())
	completeWords(c, "type", api.EntryTypes())
	c.MarkFlagsMutuallyExclusive("dry-run", "again")
}

const maxParallel = 64

// file checks the flags and says what is read.
func (f *importFlags) file(r *remote, name string) (*importFile, error) {
	comma, err := parseDelimiter(f.delimiter)
	moves, badMap := parseMapping(f.mapping)
	err = errors.Join(err, badMap, oneOf("format", f.format, fileFormats()), oneOf("type", f.kind, api.EntryTypes()), checkParallel(f.parallel))
	file := &importFile{name: name, stdin: r.terminal.In, format: f.format, comma: comma, raw: f.raw, mapping: moves, defaultType: f.kind}
	if !file.isStdin() && f.journal == "" {
		f.journal = name + journalSuffix
	}
	for flag, other := range map[string]string{"--refused": f.refused, "--journal": f.journal} {
		if !file.isStdin() && sameFile(name, other) {
			err = errors.Join(err, term.Usagef("%s must not be the file that is imported", flag))
		}
	}
	if f.refused != "" && sameFile(f.refused, f.journal) {
		err = errors.Join(err, term.Usagef("--refused and --journal must be two files"))
	}
	return file, err
}

// sameFile says whether two names mean one file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	first, err := os.Stat(a)
	second, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(first, second)
}

func checkParallel(n int) error {
	if n < 1 || n > maxParallel {
		return term.Usagef("--parallel must be from 1 to %d", maxParallel)
	}
	return nil
}

func (r *remote) importEntries(ctx context.Context, name string, f importFlags, out term.Format) (err error) {
	file, err := f.file(r, name)
	if err != nil {
		return err
	}
	im, err := r.newImporter(ctx, f)
	if err != nil {
		return err
	}
	reader, closer, err := file.open(ctx, im.workspace.ID)
	if err != nil {
		return err
	}
	defer closer.Close()
	if im.journal, err = im.remember(f); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, im.journal.close()) }()
	if im.journal.begun() && !file.isStdin() {
		if err := im.verify(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", file.title(), err)
		}
	}
	rows := rowsOf(reader, file.title())
	if f.dry {
		return r.rehearse(ctx, im, rows, f, file, out)
	}
	return r.perform(ctx, im, rows, f, file, reader.refusals(), out)
}

// newImporter finds the way to the server, and whether it can lead to anything.
func (r *remote) newImporter(ctx context.Context, f importFlags) (*importer, error) {
	s, err := r.connect()
	if err != nil {
		return nil, err
	}
	w, err := r.currentWorkspace(ctx, s)
	if err != nil {
		return nil, err
	}
	me, err := s.Auth.Me(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask who is signed in: %w", err)
	}
	im := &importer{session: s, workspace: w, userID: me.ID, dry: f.dry, now: time.Now,
		retrier: &retrier{wait: f.wait, note: func(text string) { _ = r.say("%s", text) }}}
	return im, im.mayWrite(ctx)
}

// remember opens the journal. Whoever only looks writes none.
func (im *importer) remember(f importFlags) (*journal, error) {
	head := journalHead{Version: journalVersion, WorkspaceID: im.workspace.ID, UserID: im.userID}
	if f.again {
		head.Salt = rand.Text()
	}
	switch {
	case f.journal == "":
		im.salt = head.Salt
		return nil, nil
	case f.dry:
		return readJournal(f.journal, head)
	}
	j, err := openJournal(f.journal, head, f.again)
	if err == nil {
		im.salt = j.head.Salt
	}
	return j, err
}

// verify holds a file against the journal before anything is sent: a line that has
// moved must not be taken for another.
func (im *importer) verify(ctx context.Context, file *importFile) error {
	reader, closer, err := file.open(ctx, im.workspace.ID)
	if err != nil {
		return err
	}
	defer closer.Close()
	for row, err := range rowsOf(reader, file.title()) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		known, err := im.journal.look(row.number)
		if err != nil {
			return err
		}
		if known.done() && known.digest != row.mark() {
			return changedError(row.line)
		}
	}
	return nil
}
