package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newEntryDuplicates(r *remote) *cobra.Command {
	var in struct{ Entry api.Entry }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "duplicates ENTRY",
		Short: "List the entries that may be doubles of one",
		Long: `List up to ten entries that may be the same as one, and what both have in
common: an e-mail address, a phone number, a name or a bank account. Two
payees can share a bank account: that is a warning, and no reason to merge
them. You see it with the permission ws.receiving.read.`,
		Example: `  bursar directory duplicates "Ada Lovelace"
  bursar directory duplicates "Ada Lovelace" --jq '.duplicates[].id'`,
	}, func(c *call) error {
		found, err := c.Directory.Duplicates(c, in.Entry.ID)
		if err != nil {
			return fmt.Errorf("look for doubles of %s: %w", term.Printable(named(&in.Entry)), err)
		}
		if len(found.Duplicates) == 0 {
			c.say("No other entry has the e-mail address, phone number, name or account of %s.", named(&in.Entry))
		}
		return c.write(found, func(w io.Writer) error { return writeDuplicates(w, found.Duplicates) })
	})
}

// writeDuplicates writes a line for each entry: its id, its label and the reasons.
func writeDuplicates(w io.Writer, list []api.Duplicate) error {
	for _, d := range list {
		if _, err := fmt.Fprintf(w, "%s  %s  same %s\n", d.ID, term.Printable(d.Label), strings.Join(d.Reasons, ", ")); err != nil {
			return err
		}
	}
	return nil
}

func newEntryMerge(r *remote) *cobra.Command {
	var in struct {
		Target  api.Entry
		Sources []api.Entry
		Take    []string `flag:"take" usage:"take a value of an entry: {field=ENTRY}; repeatable" commas:"true"`
		DryRun  bool     `flag:"dry-run" usage:"show what would change, and change nothing"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "merge TARGET SOURCE…",
		Short: "Merge entries into one",
		Long: `Merge up to 20 entries into another one of the same type. The target gets
their tags and receiving methods, and the values that it lacks; --take says of
which entry a value is taken: name, label, status, external_id or fields.KEY.
The target keeps its default receiving method.

The sources disappear from lists, and stay readable under their ids. The
merge can be undone for 30 days with 'bursar directory unmerge'. --dry-run
shows what would change and changes nothing.`,
		Example: `  bursar directory merge "Ada Lovelace" entry_01jd2q4h6k8m0n2p4r6s8t0v2w --dry-run
  bursar directory merge "Ada Lovelace" "Countess Lovelace" --take fields.phone="Countess Lovelace"`,
	}, func(c *call) error {
		p := client.MergeParams{DryRun: in.DryRun}
		for _, e := range in.Sources {
			p.Sources = append(p.Sources, e.ID)
		}
		var err error
		if p.Fields, err = takenFields(c, in.Take); err != nil {
			return err
		}
		made, err := c.Directory.Merge(c, in.Target.ID, p)
		if err != nil {
			return fmt.Errorf("merge into %s: %w", term.Printable(named(&in.Target)), err)
		}
		switch {
		case made.ApprovalID != "":
			c.say("The merge into %s waits for approval: %s. Nothing was changed.", named(&in.Target), made.ApprovalID)
		case p.DryRun:
			c.say("Nothing was changed. This is what the merge would change about %s.", named(&in.Target))
		default:
			c.say("Merged %s into %s. You can undo it within 30 days with 'bursar directory unmerge %s'.",
				counted(len(made.Sources), "entry", "entries"), named(&in.Target), made.ID)
		}
		return c.write(made, func(w io.Writer) error { return r.writeMerge(w, made) })
	})
}

// takenFields returns the id of the entry by the field that is taken from it. It is nil if nothing is taken.
func takenFields(c *call, take []string) (fields map[string]string, err error) {
	for _, text := range take {
		field, from, ok := strings.Cut(text, "=")
		if !ok {
			return nil, term.Usagef("--take must be field=ENTRY, not %q", text)
		}
		e, err := entries().find(c, from)
		if err != nil {
			return nil, err
		}
		if fields == nil {
			fields = map[string]string{}
		}
		fields[field] = e.ID
	}
	return fields, nil
}

// writeMerge writes the id of the merge and the changes of its target.
func (r *remote) writeMerge(w io.Writer, m *api.Merge) error {
	pairs := filled("Merge", m.ID)
	for _, c := range m.Changes {
		pairs = append(pairs, term.Printable(c.Field), r.changeText(c))
	}
	more := filled("More tags", strings.Join(m.Tags, ", "), "More receiving methods", strings.Join(m.ReceivingMethods, ", "))
	return term.WritePairs(r.terminal, w, append(pairs, more...)...)
}

func newEntryUnmerge(r *remote) *cobra.Command {
	var in struct{ Merge string }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "unmerge MERGE",
		Short: "Undo a merge of entries",
		Long: `Undo a merge of the last 30 days: its entries become what they were before. If
one of them was changed since, nothing is undone, and the error says what was
changed. MERGE is the id that 'bursar directory merge' has written.`,
		Example: `  bursar directory unmerge mrg_01jd2t7x9y1z3a5b7c9d1e3f5g
  bursar api GET '/directory/merges?workspace_id=ws_01jd2m8k3vq7w5x9y0z1a2b3c4'`,
	}, func(c *call) error {
		undone, err := c.Directory.UndoMerge(c, in.Merge)
		if err != nil {
			return fmt.Errorf("undo the merge: %w", err)
		}
		if undone.ApprovalID != "" {
			c.say("Undoing the merge into %s waits for approval: %s. Nothing was changed.", undone.TargetID, undone.ApprovalID)
		} else {
			c.say("Undid the merge of %s into %s.", counted(len(undone.Sources), "entry", "entries"), undone.TargetID)
		}
		return c.done(undone)
	})
}
