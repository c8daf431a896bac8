package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
)

func newDirectoryBulk(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "bulk",
		Short: "Change many entries alike",
		Long: `Change many entries alike: those that are named, those that match the filters,
or with --all every entry of the workspace. Up to 1,000 are changed in one
transaction; more are changed in the background, and the command waits.

Each bulk change has an id, with which 'bursar directory bulk undo' undoes it,
for 30 days.`,
		Example: `  bursar directory bulk tag speaker --search berlin
  bursar directory bulk deactivate --tag former --yes
  bursar directory bulk undo bulk_01jd2s6w8x0y2z4a6b8c0d2e4f`,
	}, newBulk(r, api.BulkTag, "Give entries a tag"), newBulk(r, api.BulkUntag, "Take a tag away from entries"), newBulk(r, api.BulkActivate, "Activate entries"),
		newBulk(r, api.BulkDeactivate, "Deactivate entries"), newBulk(r, api.BulkDelete, "Delete entries"), newBulkUndo(r))
}

func newBulk(r *remote, action, short string) *cobra.Command {
	arguments := " [ENTRY…]"
	example := "  bursar directory bulk " + action + ` --type person --status inactive
  bursar directory bulk ` + action + ` "Ada Lovelace" "Grace Hopper"`
	if action == api.BulkTag || action == api.BulkUntag {
		arguments = " TAG [ENTRY…]"
		example = "  bursar directory bulk " + action + ` speaker --search berlin
  bursar directory bulk ` + action + ` speaker "Ada Lovelace" "Grace Hopper"`
	}
	in := &bulkInputs{tagged: action == api.BulkTag || action == api.BulkUntag}
	c := newCommand(r, workspaceIfNeeded, in, &cobra.Command{
		Use:   action + arguments,
		Short: short,
		Long: short + `.

Name the entries, or give filters that they match. Without names the command
asks first, unless you pass --yes.`,
		Example: example,
	}, func(c *call) error { return bulk(c, action, in) })
	c.ValidArgsFunction = entries().completion(r)
	return c
}

// bulkInputs are the inputs of a bulk change.
type bulkInputs struct {
	Arguments []string
	All       bool `flag:"all" usage:"all entries of the workspace"`
	entryFilter
	entryWords
	confirmation
	tagged bool // the first argument is a tag
}

// filter returns the filter of the flags, or nil if none is given.
func (b *bulkInputs) filter() *api.BulkFilter {
	if b.entryFilter == (entryFilter{}) && b.Words == "" {
		return nil
	}
	return &api.BulkFilter{Type: notEmpty(string(b.Type)), Status: notEmpty(string(b.Status)), Tag: notEmpty(string(b.Tag)),
		Q: notEmpty(b.Words)}
}

// names returns the names of entries.
func (b *bulkInputs) names() []string {
	if b.tagged {
		return b.Arguments[1:]
	}
	return b.Arguments
}

func (b *bulkInputs) check() error {
	filtered := b.filter() != nil
	if len(b.names()) > 0 == (filtered || b.All) || filtered && b.All {
		return term.Usagef("name the entries, or give filters, or --all")
	}
	return nil
}

// bulk changes the given entries, or those that a filter selects.
func bulk(c *call, action string, in *bulkInputs) error {
	w, err := c.here()
	if err != nil {
		return err
	}
	p := api.BulkCreate{WorkspaceID: w.ID, Action: action}
	if in.tagged {
		p.Tag = &in.Arguments[0]
	}
	if refs := in.names(); len(refs) > 0 {
		var list []api.Entry
		if err := entries().fill(c, &list, "", refs); err != nil {
			return err
		}
		for _, e := range list {
			p.IDs = append(p.IDs, e.ID)
		}
	} else {
		question := action + " all entries of " + w.Name
		if p.Filter = in.filter(); p.Filter == nil {
			p.Filter = &api.BulkFilter{}
		} else {
			question += " that match"
		}
		if err := c.confirm(in.confirmation, "%s?", question); err != nil {
			return err
		}
	}
	done, err := c.Directory.Bulk(c, p)
	if err != nil {
		return fmt.Errorf("%s entries: %w", action, err)
	}
	return bulkDone(c, done)
}

func newBulkUndo(r *remote) *cobra.Command {
	var in struct{ Bulk string }
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use:   "undo BULK",
		Short: "Undo a bulk change",
		Long: `Undo a bulk change of the last 30 days. An entry that somebody has changed
since in the same respect stays as it is. BULK is the id that the command has
written when it made the change.`,
		Example: "  bursar directory bulk undo bulk_01jd2s6w8x0y2z4a6b8c0d2e4f",
	}, func(c *call) error {
		done, err := c.Directory.UndoBulk(c, in.Bulk)
		if err != nil {
			return fmt.Errorf("undo %s: %w", term.Printable(in.Bulk), err)
		}
		return bulkDone(c, done)
	})
}

// bulkDone waits for the end of a bulk change and prints its result.
func bulkDone(c *call, b *api.Bulk) error {
	b, err := watchBulk(c, b)
	if err != nil {
		return err
	}
	if b.Status != api.ImportCompleted {
		return fmt.Errorf("%s is %s after %d changes: %s", b.ID, b.Status, b.Changed, term.Printable(b.Reason))
	}
	text := fmt.Sprintf("%s: %d changed, %d unchanged, %d refused.", b.ID, b.Changed, b.Unchanged, b.Refused)
	if b.Refused > 0 {
		text += " The first one was refused because of this: " + b.Reason + "."
	}
	if b.Changed > 0 {
		text += " Undo it with 'bursar directory bulk undo " + b.ID + "'."
	}
	c.say("%s", text)
	return c.done(b)
}

// watchBulk shows the progress of a bulk change until it ends.
func watchBulk(c *call, b *api.Bulk) (*api.Bulk, error) {
	if b.Ended() {
		return b, nil
	}
	bar := term.NewProgress(c.r.terminal, "entries", b.Entries)
	defer bar.Close()
	for !b.Ended() {
		select {
		case <-time.After(watchInterval):
		case <-c.Done():
			return nil, fmt.Errorf("interrupted, and %s goes on at the server: end it with\nbursar api POST /directory/bulk/%s/cancel", b.ID, b.ID)
		}
		now, err := c.Directory.GetBulk(c, b.ID)
		if err != nil {
			return nil, err
		}
		b = now
		dealt := b.Changed + b.Unchanged + b.Refused
		bar.Set(int(dealt), dealt, int(b.Refused))
	}
	return b, nil
}
