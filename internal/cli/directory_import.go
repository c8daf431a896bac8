package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
)

// importFlags contains the flags for how a file is imported.
type importFlags struct {
	format, delimiter, kind string
	match, onMatch          string
	onDuplicate             string
	mapping                 []string
	dry, again, raw         bool
	refused                 string
	wait                    time.Duration
}

func newDirectoryImport(r *remote) *cobra.Command {
	var f importFlags
	var out term.Format
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Create and update entries from a CSV or NDJSON file",
		Long: `Send a file, or standard input where FILE is "-", to the server, which imports
it, and watch how far it is. A line about an entry that exists updates it;
any other line makes an entry. --match says by what a line is known: by the
id of the entry, the id in another system, the e-mail address, the phone
number, or the number of an account.

A new entry with the e-mail address, phone number or name of another may be a
double of it. With --on-duplicate refuse its line is refused; without the flag
the setting of the workspace counts.

CSV files begin with a line that names the columns. They are UTF-8, separated
by commas, semicolons or tabs. A column goes where its header says:

  id, type, label, name,          the property of the entry
  status, external_id
  tags                            names or ids, separated by |  (\| is a | in
                                  a name; a lone | removes all tags); new
                                  ones need the permission ws.tags.write
  fields.KEY                      the field KEY, as a text
  json.KEY                        the field KEY, as JSON: 42, true,
                                  {"city":"Rome"}; null removes the field
  method.provider,                an account that the entry is paid at, which
  method.account_name,            is added if it is new; it needs the
  method.account_id,              permission ws.receiving.write, and waits for
  method.institution_code         a second person where the workspace has two
  anything else                   the field of that name, as a text; "E-Mail",
                                  "First Name" and the like are the
                                  well-known fields

An empty cell says nothing: in an update what is there stays. An ' before a
cell that starts like a formula, with = + - or @, is taken away, because
'export' adds it; --raw keeps it. --map sends a column elsewhere, or leaves it
out. NDJSON files have one JSON object a line, with the members that 'bursar
api POST /directory' takes, or as 'export' writes them.

The import runs at the server: it goes on when this command is interrupted,
and after the server restarts, with no line twice and none lost. The same
command within a day watches the same import again; --again imports every line
once more.

Lines that cannot be imported are written to FILE.refused.csv (or .ndjson)
with the reason. Mend them there and import that file. The exit code is 1
where a line was refused.`,
		Example: `  bursar directory import people.csv --dry-run
  bursar directory import people.csv --type person
  bursar directory import payroll.csv --match external_id --map "Full name=name" --map "Notes="
  bursar directory export | bursar directory import - --workspace archive --map id=
  bursar directory import - --format ndjson --refused refused.ndjson < people.ndjson`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return r.importEntries(c.Context(), args[0], f, out) },
	}
	flags := c.Flags()
	flags.StringVar(&f.format, "format", "", "csv or ndjson; else by the name of the file, or by how it begins")
	flags.StringVar(&f.delimiter, "delimiter", "", "what separates the columns of a CSV file: a character, or tab; else by its header")
	flags.BoolVar(&f.raw, "raw", false, "keep the ' before what a spreadsheet would run: the file was exported with --raw")
	flags.StringArrayVar(&f.mapping, "map", nil, "HEADER=COLUMN: where a column goes; HEADER= leaves it out (may be repeated)")
	flags.StringVar(&f.kind, "type", "", "what lines without a type are: person or organization")
	flags.StringVar(&f.match, "match", "id", "what makes a line an update: id, external_id, email, phone or account")
	flags.StringVar(&f.onMatch, "on-match", "update", "what becomes of such a line: update, skip or refuse")
	flags.StringVar(&f.onDuplicate, "on-duplicate", "", "what becomes of a new entry that may be a double: allow, warn or refuse")
	flags.BoolVar(&f.dry, "dry-run", false, "show line by line what would be done, and change nothing")
	flags.BoolVar(&f.again, "again", false, "import every line once more, also what was imported before")
	flags.StringVar(&f.refused, "refused", "", "write refused lines here (default FILE.refused.csv or .ndjson)")
	flags.DurationVar(&f.wait, "wait", 2*time.Minute, "how long to wait for a server that does not answer")
	completeWords(c, "format", entryfile.Formats())
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "match", matchKeys())
	completeWords(c, "on-match", onMatches())
	completeWords(c, "on-duplicate", api.OnDuplicates())
	r.bindWorkspace(c)
	out.Bind(c, false)
	return c
}

func matchKeys() []string { return []string{"id", "external_id", "email", "phone", "account"} }
func onMatches() []string { return []string{"update", "skip", "refuse"} }

// params validates the flags and returns the parameters of the import.
func (f *importFlags) params(name string) (client.ImportParams, error) {
	p := client.ImportParams{Format: f.format, DefaultType: f.kind, Match: f.match, OnMatch: f.onMatch, OnDuplicate: f.onDuplicate, DryRun: f.dry, Delimiter: f.delimiter, Raw: f.raw, Mapping: map[string]string{}}
	err := errors.Join(oneOf("format", f.format, entryfile.Formats()), oneOf("type", f.kind, api.EntryTypes()),
		oneOf("match", f.match, matchKeys()), oneOf("on-match", f.onMatch, onMatches()), oneOf("on-duplicate", f.onDuplicate, api.OnDuplicates()))
	if _, bad := entryfile.ParseDelimiter(f.delimiter); bad != nil {
		err = errors.Join(err, term.Usagef("--delimiter %w", bad))
	}
	if p.Format == "" {
		p.Format = formatOf(name)
	}
	if strings.EqualFold(filepath.Ext(name), ".tsv") && p.Delimiter == "" {
		p.Delimiter = "tab"
	}
	for _, text := range f.mapping {
		at := strings.LastIndex(text, "=")
		if at <= 0 {
			return p, errors.Join(err, term.Usagef("--map must be HEADER=COLUMN, or HEADER= to leave a column out, not %q", text))
		}
		p.Mapping[strings.TrimSpace(text[:at])] = text[at+1:]
	}
	if f.refused != "" && sameFile(name, f.refused) {
		err = errors.Join(err, term.Usagef("--refused must not be the file that is imported"))
	}
	return p, err
}

// formatOf returns the format for a file name.
func formatOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv", ".tsv":
		return entryfile.CSV
	case ".ndjson", ".jsonl", ".json":
		return entryfile.NDJSON
	}
	return ""
}

// sameFile reports whether two names refer to one file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	first, err := os.Stat(a)
	second, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(first, second)
}

// importSource is a file to send, more than once if necessary.
type importSource struct {
	*os.File
	title  string
	size   int64
	digest hash.Hash
}

// openImport opens the file and reads it once for its digest, which identifies the import. Standard input is stored first, because a call
// may be retried.
func openImport(name string, stdin io.Reader) (*importSource, error) {
	s := &importSource{title: name, digest: sha256.New()}
	var err error
	if name == "-" {
		s.title = "standard input"
		if s.File, err = os.CreateTemp("", "bursar-import-*"); err == nil {
			_ = os.Remove(s.Name()) // if it cannot be removed yet, it stays in the folder for temporary files
			s.size, err = io.Copy(s.File, io.TeeReader(stdin, s.digest))
		}
	} else if s.File, err = os.Open(name); err == nil {
		s.size, err = io.Copy(s.digest, s.File)
	}
	return s, err
}

// sending shows how much of a file was sent.
type sending struct {
	io.ReadSeeker
	sent int64
	show func(sent int64)
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadSeeker.Read(p)
	s.sent += int64(n)
	s.show(s.sent)
	return n, err
}

func (s *sending) Seek(offset int64, whence int) (int64, error) {
	s.sent = 0
	return s.ReadSeeker.Seek(offset, whence)
}

func (r *remote) importEntries(ctx context.Context, name string, f importFlags, out term.Format) error {
	p, err := f.params(name)
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
	file, err := openImport(name, newPatientReader(ctx, r.terminal.In))
	if file.File != nil {
		defer file.Close()
	}
	if err != nil {
		return err
	}
	retries := &retrier{wait: f.wait, note: func(text string) { _ = r.say("%s", text) }}
	started, err := r.send(ctx, s, p, file, f.again, retries)
	if err != nil {
		return fmt.Errorf("import %s: %w", file.title, err)
	}
	done, err := r.watch(ctx, s, started, retries)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted, and %s goes on at the server: run the same command again to watch it, or end it with\n"+
			"bursar api POST /directory/imports/%s/cancel", started.ID, started.ID)
	}
	if err != nil {
		return err
	}
	if f.dry {
		return r.showPlan(ctx, s, done, file.title, out)
	}
	return r.report(ctx, s, done, file.title, w.Name, f.refusedName(name, done), out)
}

// send sends the file. Its idempotency key is derived from its contents and the parameters of the import.
func (r *remote) send(ctx context.Context, s *session, p client.ImportParams, file *importSource, again bool, retries *retrier) (*client.Import, error) {
	options, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the options: %w", err)
	}
	file.digest.Write(options)
	if again {
		file.digest.Write([]byte(rand.Text()))
	}
	key := "import-" + hex.EncodeToString(file.digest.Sum(nil))
	bar := term.NewProgress(r.terminal, "KiB sent", file.size)
	defer bar.Close()
	var started *client.Import
	err = retries.call(ctx, func() (err error) {
		body := &sending{ReadSeeker: file, show: func(sent int64) { bar.Set(int(sent>>10), sent, 0) }}
		var before bool
		started, before, err = s.Directory.Import(client.WithIdempotencyKey(ctx, key), p, body)
		if err == nil && before {
			bar.Note("This file was sent before: it is " + started.ID + ". --again imports it once more.")
		}
		return err
	})
	return started, err
}

// watchInterval is the time between two requests for the progress of an import.
const watchInterval = 250 * time.Millisecond

// watch shows the progress of an import until it ends.
func (r *remote) watch(ctx context.Context, s *session, i *client.Import, retries *retrier) (*client.Import, error) {
	bar := term.NewProgress(r.terminal, "lines", i.Bytes)
	defer bar.Close()
	retries.note = bar.Note
	for {
		err := retries.call(ctx, func() error {
			now, err := s.Directory.GetImport(ctx, i.ID)
			if err == nil {
				i = now
			}
			return err
		})
		if err != nil || i.Ended() {
			return i, err
		}
		bar.Set(int(i.Lines), i.Position, int(i.Refused))
		select {
		case <-time.After(watchInterval):
		case <-ctx.Done():
			return i, ctx.Err()
		}
	}
}

func (f *importFlags) refusedName(name string, i *client.Import) string {
	if f.refused != "" || name == "-" {
		return f.refused
	}
	return name + ".refused." + i.Format
}

// report prints the result of the import, and fetches the refused lines.
func (r *remote) report(ctx context.Context, s *session, i *client.Import, title, workspace, refused string, out term.Format) error {
	if i.Refused > 0 {
		if err := r.fetchRefused(ctx, s, i, refused); err != nil {
			return err
		}
	}
	if err := r.say("Imported %s into %s: %s.", title, workspace, importCounts(i)); err != nil {
		return err
	}
	if i.ApprovalID != "" {
		if err := r.say("Changes of where money goes wait for approval %s.", i.ApprovalID); err != nil {
			return err
		}
	}
	if out.JSON || out.JQ != nil {
		if err := out.Write(r.terminal, i, func(io.Writer) error { return nil }); err != nil {
			return err
		}
	}
	switch {
	case i.Status != api.ImportCompleted:
		return fmt.Errorf("the import was not completed: it is %s. %s", i.Status, i.Reason)
	case i.Refused == 0:
		return nil
	case refused == "":
		return errors.New(counted(int(i.Refused), "line was refused", "lines were refused"))
	}
	return errors.New(counted(int(i.Refused), "line was refused", "lines were refused") + ": see " + refused)
}

func importCounts(i *client.Import) string {
	return fmt.Sprintf("%s created, %s updated, %s unchanged, %s refused",
		term.Grouped(int(i.Created)), term.Grouped(int(i.Updated)), term.Grouped(int(i.Unchanged)), term.Grouped(int(i.Refused)))
}

// fetchRefused writes the refused lines to a file and prints the first of them. It does not overwrite the file of an earlier run, which may
// have been corrected.
func (r *remote) fetchRefused(ctx context.Context, s *session, i *client.Import, name string) error {
	told := &refusalPrinter{format: i.Format, say: func(text string) { _ = r.say("%s", text) }}
	fetch := func(w io.Writer) error { return s.Directory.RefusedLines(ctx, i.ID, io.MultiWriter(w, told)) }
	var err error
	if name == "" {
		err = fetch(io.Discard)
	} else {
		if info, missing := os.Lstat(name); missing == nil && info.Mode().IsRegular() {
			if err := os.Rename(name, name+"~"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		err = writeWhole(name, fetch)
	}
	if err != nil {
		return fmt.Errorf("fetch the refused lines: %w", err)
	}
	told.print()
	return nil
}

const (
	// shownRefusals is the number of refusals printed on the screen. The file has all.
	shownRefusals = 10
	// maxTold is how much of the file is read for them.
	maxTold = 64 << 10
)

// refusalPrinter keeps the beginning of a file of refused lines, and prints the reasons in it.
type refusalPrinter struct {
	format string
	text   bytes.Buffer
	say    func(text string)
}

func (t *refusalPrinter) Write(p []byte) (int, error) {
	t.text.Write(p[:min(len(p), max(0, maxTold-t.text.Len()))])
	return len(p), nil
}

func (t *refusalPrinter) print() {
	if t.format == entryfile.NDJSON {
		lines := bufio.NewScanner(&t.text)
		lines.Buffer(nil, maxTold)
		for n := 0; n < shownRefusals && lines.Scan(); n++ {
			var row struct {
				Line   int    `json:"refused.line"`
				Reason string `json:"refused.reason"`
			}
			if json.Unmarshal(lines.Bytes(), &row) == nil {
				t.say(fmt.Sprintf("line %d: %s", row.Line, row.Reason))
			}
		}
		return
	}
	table := csv.NewReader(&t.text)
	table.FieldsPerRecord, table.LazyQuotes = -1, true
	if first, _, ok := bytes.Cut(t.text.Bytes(), []byte("\n")); ok && bytes.Contains(first, []byte("refused.line")) {
		before, _, _ := bytes.Cut(first, []byte("refused.line"))
		if len(before) > 0 {
			table.Comma = rune(before[len(before)-1])
		}
	}
	header, err := table.Read()
	for n := 0; n < shownRefusals && err == nil; n++ {
		var row []string
		if row, err = table.Read(); err == nil && len(row) >= len(header) {
			t.say("line " + row[len(header)-2] + ": " + row[len(header)-1])
		}
	}
}

// showPlan shows the dry-run result of each line.
func (r *remote) showPlan(ctx context.Context, s *session, i *client.Import, title string, out term.Format) error {
	var plan bytes.Buffer
	if err := s.Directory.ImportPlan(ctx, i.ID, &plan); err != nil {
		return fmt.Errorf("fetch the plan: %w", err)
	}
	all := []client.ImportLine{}
	for in := json.NewDecoder(&plan); in.More(); {
		var line client.ImportLine
		if err := in.Decode(&line); err != nil {
			return fmt.Errorf("read the plan: %w", err)
		}
		all = append(all, line)
	}
	err := out.Write(r.terminal, all, func(w io.Writer) error {
		for _, line := range all {
			if err := r.showPlanned(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.say("Of %s, %s would be created, %s updated, %s unchanged, %s refused. Nothing was changed.", title,
		term.Grouped(int(i.Created)), term.Grouped(int(i.Updated)), term.Grouped(int(i.Unchanged)), term.Grouped(int(i.Refused))); err != nil {
		return err
	}
	switch {
	case i.Status != api.ImportCompleted:
		return fmt.Errorf("the rehearsal was not completed: it is %s. %s", i.Status, i.Reason)
	case i.Refused > 0:
		return errors.New(counted(int(i.Refused), "line", "lines") + " would be refused")
	}
	return nil
}

func (r *remote) showPlanned(w io.Writer, l client.ImportLine) error {
	detail := l.Reason
	switch {
	case len(l.Changes) > 0:
		detail = strings.Join(l.Changes, ", ")
	case len(l.Duplicates) > 0 && detail == "":
		detail = "may be a double of " + l.Duplicates[0].Label + " " + l.Duplicates[0].ID
	case detail == "":
		detail = l.Type
	}
	cells := r.terminal.Cells(strconv.Itoa(l.Line), l.Action, l.Label, detail)
	if !term.IsTerminal(w) {
		_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
		return err
	}
	const nameWidth = 28
	name := runewidth.FillRight(r.terminal.Truncate(cells[2], nameWidth), nameWidth)
	_, err := fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%7s  %-9s  %s  %s", cells[0], cells[1], name, cells[3]), " "))
	return err
}
