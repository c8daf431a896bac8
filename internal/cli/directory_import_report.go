package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"bursar/internal/cli/term"
)

// importSummary is what became of a file.
type importSummary struct {
	Created        int    `json:"created"`
	Updated        int    `json:"updated"`
	Unchanged      int    `json:"unchanged"`
	ImportedBefore int    `json:"imported_before"`
	Refused        int    `json:"refused"`
	RefusedFile    string `json:"refused_file,omitempty"`
}

func (s *importSummary) count(o outcome) {
	switch o.action {
	case actionCreate:
		s.Created++
	case actionUpdate:
		s.Updated++
	case actionUnchanged:
		s.Unchanged++
	case actionBefore:
		s.ImportedBefore++
	case actionRefuse:
		s.Refused++
	}
}

func (s *importSummary) total() int {
	return s.Created + s.Updated + s.Unchanged + s.ImportedBefore + s.Refused
}

func (s *importSummary) String() string {
	text := fmt.Sprintf("%s created, %s updated, %s unchanged, %s refused", term.Grouped(s.Created), term.Grouped(s.Updated), term.Grouped(s.Unchanged), term.Grouped(s.Refused))
	if s.ImportedBefore > 0 {
		text += ", " + term.Grouped(s.ImportedBefore) + " imported before"
	}
	return text
}

// err is what a run with refused lines ends with.
func (s *importSummary) err() error {
	if s.Refused == 0 {
		return nil
	}
	text := counted(s.Refused, "line was refused", "lines were refused")
	if s.RefusedFile != "" {
		text += ": see " + s.RefusedFile
	}
	return errors.New(text)
}

// shownRefusals is how many refusals are told on the screen; the file has all.
const shownRefusals = 10

// perform imports the rows.
func (r *remote) perform(ctx context.Context, im *importer, rows iter.Seq2[*importRow, error], f importFlags, file *importFile, form refusalWriter, out term.Format) error {
	refusals := &refusedFile{name: f.refusedName(file, form), form: form}
	p := term.NewProgress(r.terminal, "lines", file.size())
	im.retrier.note = p.Note
	var sum importSummary
	err := inOrder(ctx, f.parallel, rows, im.apply, func(o outcome) error {
		sum.count(o)
		p.Set(sum.total(), o.row.end, sum.Refused)
		if o.action != actionRefuse {
			return nil
		}
		if sum.Refused <= shownRefusals || refusals.name == "" {
			p.Note(fmt.Sprintf("line %d: %s", o.row.line, o.reason))
		} else if sum.Refused == shownRefusals+1 {
			p.Note("Further refused lines are in " + refusals.name + ".")
		}
		return refusals.add(o.row, o.reason)
	})
	p.Close()
	err = errors.Join(err, refusals.close(err == nil))
	if sum.Refused > 0 {
		sum.RefusedFile = refusals.name
	}
	if err != nil {
		return r.stopped(ctx, err, f, file, &sum)
	}
	if err := r.say("Imported %s into %s: %s.", file.title(), im.workspace.Name, &sum); err != nil {
		return err
	}
	if out.JSON || out.JQ != nil {
		if err := out.Write(r.terminal, sum, func(io.Writer) error { return nil }); err != nil {
			return err
		}
	}
	return sum.err()
}

func (f *importFlags) refusedName(file *importFile, form refusalWriter) string {
	switch {
	case f.refused != "":
		return f.refused
	case !file.isStdin():
		return file.name + ".refused" + form.extension()
	case f.journal != "":
		return f.journal + ".refused" + form.extension()
	}
	return ""
}

// stopped says how an import that did not come to its end goes on.
func (r *remote) stopped(ctx context.Context, err error, f importFlags, file *importFile, sum *importSummary) error {
	_ = r.say("Stopped after %s lines of %s: %s.", term.Grouped(sum.total()), file.title(), sum)
	var changed changedError
	switch {
	case errors.As(err, &changed):
	case f.journal != "":
		_ = r.say("To go on, run the same command again%s: %s remembers which lines are done.", without(f.again, "--again"), f.journal)
	default:
		_ = r.say("To go on, run the same command again%s within a day: what was made is not made twice.", without(f.again, "--again"))
	}
	if ctx.Err() != nil {
		return errors.New("the import was interrupted")
	}
	return err
}

func without(given bool, flag string) string {
	if given {
		return " without " + flag
	}
	return ""
}

// plannedLine is what would become of a line.
type plannedLine struct {
	Line    int      `json:"line"`
	Action  string   `json:"action"`
	ID      string   `json:"id,omitempty"`
	Label   string   `json:"label"`
	Type    string   `json:"type,omitempty"`
	Changes []string `json:"changes,omitempty"`
	Reason  string   `json:"reason,omitempty"`
}

func planned(o outcome) plannedLine {
	line := plannedLine{Line: o.row.line, Action: o.action, ID: o.row.id, Label: o.row.called(), Type: o.row.kind, Changes: o.changes, Reason: o.reason}
	switch {
	case o.row.text != "":
		line.Label = o.row.text
	case o.action == actionRefuse && strings.HasPrefix(line.Label, "Unnamed"):
		line.Label = strings.Join(o.row.cells, " ")
	}
	return line
}

func (l plannedLine) detail() string {
	switch l.Action {
	case actionCreate:
		return l.Type
	case actionUpdate:
		return strings.Join(l.Changes, ", ")
	}
	return l.Reason
}

// rehearse shows what would be done with each line.
func (r *remote) rehearse(ctx context.Context, im *importer, rows iter.Seq2[*importRow, error], f importFlags, file *importFile, out term.Format) error {
	var sum importSummary
	var all []plannedLine
	show := r.planPrinter(out, &all)
	err := inOrder(ctx, f.parallel, rows, im.apply, func(o outcome) error {
		sum.count(o)
		return show(planned(o))
	})
	if ctx.Err() != nil {
		return errors.New("the dry run was interrupted")
	}
	if err != nil {
		return err
	}
	if err := r.endPlan(out, all, sum.total()); err != nil {
		return err
	}
	if err := r.say("Of %s, %s would be created, %s updated, %s unchanged, %s refused; %s were imported before. Nothing was changed.", file.title(),
		term.Grouped(sum.Created), term.Grouped(sum.Updated), term.Grouped(sum.Unchanged), term.Grouped(sum.Refused), term.Grouped(sum.ImportedBefore)); err != nil {
		return err
	}
	if sum.Refused > 0 {
		return errors.New(counted(sum.Refused, "line", "lines") + " would be refused")
	}
	return nil
}

// planPrinter writes lines as they come, so that a large file needs no memory;
// only a jq expression wants all at once.
func (r *remote) planPrinter(out term.Format, all *[]plannedLine) func(plannedLine) error {
	n := 0
	switch w := r.terminal.Out; {
	case out.JQ != nil:
		*all = []plannedLine{}
		return func(l plannedLine) error {
			*all = append(*all, l)
			return nil
		}
	case out.JSON:
		return func(l plannedLine) error {
			before := ",\n "
			if n++; n == 1 {
				before = "["
			}
			_, err := fmt.Fprint(w, before, string(encoded(l)))
			return err
		}
	default:
		screen := term.IsTerminal(w)
		return func(l plannedLine) error {
			cells := r.terminal.Cells(strconv.Itoa(l.Line), l.Action, l.Label, l.detail())
			if !screen {
				_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
				return err
			}
			return r.showPlanned(w, cells)
		}
	}
}

// showPlanned writes a line for a screen. Its columns cannot be fitted to lines
// that are not known yet.
func (r *remote) showPlanned(w io.Writer, cells []string) error {
	const nameWidth = 28
	name := runewidth.FillRight(r.terminal.Truncate(cells[2], nameWidth), nameWidth)
	_, err := fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%7s  %-*s  %s  %s", cells[0], len(actionBefore), cells[1], name, cells[3]), " "))
	return err
}

func (r *remote) endPlan(out term.Format, all []plannedLine, count int) error {
	switch {
	case out.JQ != nil:
		return out.JQ.Write(r.terminal, all)
	case out.JSON && count == 0:
		_, err := fmt.Fprintln(r.terminal.Out, "[]")
		return err
	case out.JSON:
		_, err := fmt.Fprintln(r.terminal.Out, "]")
		return err
	}
	return nil
}
