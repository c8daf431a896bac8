package cli

import (
	"context"
	"errors"
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
	var f entryFilter
	var out term.Format
	var all, yes bool
	arguments, least := " [ENTRY…]", 0
	example := "  bursar directory bulk " + action + ` --type person --status inactive
  bursar directory bulk ` + action + ` "Ada Lovelace" "Grace Hopper"`
	if action == api.BulkTag || action == api.BulkUntag {
		arguments, least = " TAG [ENTRY…]", 1
		example = "  bursar directory bulk " + action + ` speaker --search berlin
  bursar directory bulk ` + action + ` speaker "Ada Lovelace" "Grace Hopper"`
	}
	c := &cobra.Command{
		Use:   action + arguments,
		Short: short,
		Long: short + `.

Name the entries, or give filters that they match. Without names the command
asks first, unless you pass --yes.`,
		Example:           example,
		Args:              cobra.MinimumNArgs(least),
		ValidArgsFunction: r.completeEntry(true),
		RunE: func(c *cobra.Command, args []string) error {
			p := api.BulkCreate{Action: action}
			if least > 0 {
				p.Tag, args = &args[0], args[1:]
			}
			filtered := f != entryFilter{}
			if count := len(args); (count > 0) == (filtered || all) || filtered && all {
				return term.Usagef("name the entries, or give filters, or --all")
			}
			if err := errors.Join(oneOf("type", f.kind, api.EntryTypes()), oneOf("status", f.status, api.EntryStatuses())); err != nil {
				return err
			}
			return r.bulk(c.Context(), p, f, args, yes, out)
		},
	}
	f.bind(r, c)
	c.Flags().StringVarP(&f.words, "search", "q", "", "only entries with these `words`")
	c.Flags().BoolVar(&all, "all", false, "all entries of the workspace")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	out.Bind(c, false)
	return c
}

// bulk changes the given entries, or those that a filter selects.
func (r *remote) bulk(ctx context.Context, p api.BulkCreate, f entryFilter, refs []string, yes bool, out term.Format) error {
	s, w, err := r.connectWorkspace(ctx)
	if err != nil {
		return err
	}
	p.WorkspaceID = w.ID
	if len(refs) == 0 {
		p.Filter = &api.BulkFilter{Type: filled(f.kind), Status: filled(f.status), Tag: filled(f.tag), Q: filled(f.words)}
		question := p.Action + " all entries of " + term.Printable(w.Name)
		if f != (entryFilter{}) {
			question += " that match"
		}
		if err := r.terminal.Confirm(ctx, question+"?", yes); err != nil {
			return err
		}
	} else {
		list, err := r.findEntries(ctx, s, refs)
		if err != nil {
			return err
		}
		for _, e := range list {
			p.IDs = append(p.IDs, e.ID)
		}
	}
	done, err := s.Directory.Bulk(ctx, p)
	if err != nil {
		return fmt.Errorf("%s entries: %w", p.Action, err)
	}
	return r.bulkDone(ctx, s, done, out)
}

// filled returns the value of a flag, or nil if it was not given.
func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newBulkUndo(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use:   "undo BULK",
		Short: "Undo a bulk change",
		Long: `Undo a bulk change of the last 30 days. An entry that somebody has changed
since in the same respect stays as it is. BULK is the id that the command has
written when it made the change.`,
		Example:           "  bursar directory bulk undo bulk_01jd2s6w8x0y2z4a6b8c0d2e4f",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			done, err := s.Directory.UndoBulk(c.Context(), args[0])
			if err != nil {
				return fmt.Errorf("undo %s: %w", term.Printable(args[0]), err)
			}
			return r.bulkDone(c.Context(), s, done, out)
		},
	}
	out.Bind(c, false)
	return c
}

// bulkDone waits for the end of a bulk change and prints its result.
func (r *remote) bulkDone(ctx context.Context, s *session, b *api.Bulk, out term.Format) error {
	b, err := r.watchBulk(ctx, s, b)
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
	if err := r.say("%s", text); err != nil {
		return err
	}
	return out.Write(r.terminal, b, nothing)
}

// watchBulk shows the progress of a bulk change until it ends.
func (r *remote) watchBulk(ctx context.Context, s *session, b *api.Bulk) (*api.Bulk, error) {
	if b.Ended() {
		return b, nil
	}
	bar := term.NewProgress(r.terminal, "entries", b.Entries)
	defer bar.Close()
	for !b.Ended() {
		select {
		case <-time.After(watchInterval):
		case <-ctx.Done():
			return nil, fmt.Errorf("interrupted, and %s goes on at the server: end it with\nbursar api POST /directory/bulk/%s/cancel", b.ID, b.ID)
		}
		now, err := s.Directory.GetBulk(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		b = now
		dealt := b.Changed + b.Unchanged + b.Refused
		bar.Set(int(dealt), dealt, int(b.Refused))
	}
	return b, nil
}
