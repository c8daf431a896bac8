package cli

import (
	"bufio"
	"bytes"
	"cmp"
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

// importInputs are the inputs of 'directory import'.
type importInputs struct {
	File        string        `files:"true"`
	Format      fileFormat    `flag:"format" usage:"csv or ndjson; else by the name of the file, or by how it begins"`
	Delimiter   delimiter     `flag:"delimiter" usage:"what separates the columns of a CSV file: a character, or tab; else by its header"`
	Raw         bool          `flag:"raw" usage:"keep the ' before what a spreadsheet would run: the file was exported with --raw"`
	Mapping     []string      `flag:"map" usage:"HEADER=COLUMN: where a column goes; HEADER= leaves it out (may be repeated)" commas:"true"`
	Type        entryType     `flag:"type" usage:"what lines without a type are: person or organization"`
	Match       matchKey      `flag:"match" usage:"what makes a line an update: id, external_id, email, phone or account" default:"id"`
	OnMatch     string        `flag:"on-match" usage:"what becomes of such a line: update, skip or refuse" words:"update,skip,refuse" default:"update"`
	OnDuplicate onDuplicate   `flag:"on-duplicate" usage:"what becomes of a new entry that may be a double: allow, warn or refuse"`
	Dry         bool          `flag:"dry-run" usage:"show line by line what would be done, and change nothing"`
	Again       bool          `flag:"again" usage:"import every line once more, also what was imported before"`
	Refused     string        `flag:"refused" usage:"write refused lines here (default FILE.refused.csv or .ndjson)" files:"true"`
	Wait        time.Duration `flag:"wait" usage:"how long to wait for a server that does not answer" default:"2m"`
	p           client.ImportParams
}

func newDirectoryImport(r *remote) *cobra.Command {
	var in importInputs
	return newCommand(r, inWorkspace, &in, &cobra.Command{
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
	}, func(c *call) error { return importEntries(c, &in) })
}

// check validates the flags and sets the parameters of the import.
func (in *importInputs) check() (err error) {
	in.p = client.ImportParams{Format: cmp.Or(string(in.Format), formatOf(in.File)), DefaultType: string(in.Type), Match: string(in.Match),
		OnMatch: in.OnMatch, OnDuplicate: string(in.OnDuplicate), DryRun: in.Dry, Delimiter: in.Delimiter.of(in.File), Raw: in.Raw,
		Mapping: map[string]string{}}
	for _, text := range in.Mapping {
		at := strings.LastIndex(text, "=")
		if at <= 0 {
			return term.Usagef("--map must be HEADER=COLUMN, or HEADER= to leave a column out, not %q", text)
		}
		in.p.Mapping[strings.TrimSpace(text[:at])] = text[at+1:]
	}
	if in.Refused != "" && sameFile(in.File, in.Refused) {
		return term.Usagef("--refused must not be the file that is imported")
	}
	return nil
}

// matchKey is what makes a line of a file an update.
type matchKey string

func (*matchKey) words() []string { return []string{"id", "external_id", "email", "phone", "account"} }

// fileFormat is the format of a file of entries.
type fileFormat string

func (*fileFormat) words() []string { return entryfile.Formats() }

// delimiter separates the columns of a CSV file.
type delimiter string

func (d *delimiter) check() error {
	if _, err := entryfile.ParseDelimiter(string(*d)); err != nil {
		return term.Usagef("--delimiter %w", err)
	}
	return nil
}

// of returns the delimiter of a file, whose name may say it.
func (d delimiter) of(file string) string {
	if d == "" && strings.EqualFold(filepath.Ext(file), ".tsv") {
		return "tab"
	}
	return string(d)
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

func importEntries(c *call, in *importInputs) error {
	in.p.WorkspaceID = c.workspace.ID
	file, err := openImport(in.File, newPatientReader(c, c.r.terminal.In))
	if file.File != nil {
		defer file.Close()
	}
	if err != nil {
		return err
	}
	retries := &retrier{wait: in.Wait, note: func(text string) { c.say("%s", text) }}
	started, err := send(c, in.p, file, in.Again, retries)
	if err != nil {
		return fmt.Errorf("import %s: %w", file.title, err)
	}
	done, err := watchImport(c, started, retries)
	if c.Err() != nil {
		return fmt.Errorf("interrupted, and %s goes on at the server: run the same command again to watch it, or end it with\n"+
			"bursar api POST /directory/imports/%s/cancel", started.ID, started.ID)
	}
	if err != nil {
		return err
	}
	if in.Dry {
		return showPlan(c, done, file.title)
	}
	return reportImport(c, done, file.title, in.refusedName(done))
}

// send sends the file. Its idempotency key is derived from its contents and the parameters of the import.
func send(c *call, p client.ImportParams, file *importSource, again bool, retries *retrier) (*client.Import, error) {
	options, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the options: %w", err)
	}
	file.digest.Write(options)
	if again {
		file.digest.Write([]byte(rand.Text()))
	}
	key := "import-" + hex.EncodeToString(file.digest.Sum(nil))
	bar := term.NewProgress(c.r.terminal, "KiB sent", file.size)
	defer bar.Close()
	var started *client.Import
	err = retries.call(c, func() (err error) {
		body := &sending{ReadSeeker: file, show: func(sent int64) { bar.Set(int(sent>>10), sent, 0) }}
		var before bool
		started, before, err = c.Directory.Import(client.WithIdempotencyKey(c, key), p, body)
		if err == nil && before {
			bar.Note("This file was sent before: it is " + started.ID + ". --again imports it once more.")
		}
		return err
	})
	return started, err
}

// watchInterval is the time between two requests for the progress of an import.
const watchInterval = 250 * time.Millisecond

// watchImport shows the progress of an import until it ends.
func watchImport(c *call, i *client.Import, retries *retrier) (*client.Import, error) {
	bar := term.NewProgress(c.r.terminal, "lines", i.Bytes)
	defer bar.Close()
	retries.note = bar.Note
	for {
		err := retries.call(c, func() error {
			now, err := c.Directory.GetImport(c, i.ID)
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
		case <-c.Done():
			return i, c.Err()
		}
	}
}

func (in *importInputs) refusedName(i *client.Import) string {
	if in.Refused != "" || in.File == "-" {
		return in.Refused
	}
	return in.File + ".refused." + i.Format
}

// reportImport prints the result of the import, and fetches the refused lines.
func reportImport(c *call, i *client.Import, title, refused string) error {
	if i.Refused > 0 {
		if err := fetchRefused(c, i, refused); err != nil {
			return err
		}
	}
	c.say("Imported %s into %s: %s.", title, c.workspace.Name, importCounts(i))
	if i.ApprovalID != "" {
		c.say("Changes of where money goes wait for approval %s.", i.ApprovalID)
	}
	if err := c.done(i); err != nil {
		return err
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
func fetchRefused(c *call, i *client.Import, name string) error {
	refusals := &refusalPrinter{format: i.Format, say: func(text string) { c.say("%s", text) }}
	fetch := func(w io.Writer) error { return c.Directory.RefusedLines(c, i.ID, io.MultiWriter(w, refusals)) }
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
	refusals.print()
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
func showPlan(c *call, i *client.Import, title string) error {
	var plan bytes.Buffer
	if err := c.Directory.ImportPlan(c, i.ID, &plan); err != nil {
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
	err := c.write(all, func(w io.Writer) error {
		for _, line := range all {
			if err := c.r.showPlanned(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.say("Of %s, %s would be created, %s updated, %s unchanged, %s refused. Nothing was changed.", title,
		term.Grouped(int(i.Created)), term.Grouped(int(i.Updated)), term.Grouped(int(i.Unchanged)), term.Grouped(int(i.Refused)))
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
