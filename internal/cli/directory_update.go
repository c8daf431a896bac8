package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// entryChange contains the changes that a command's flags request.
type entryChange struct {
	properties              propertyFlags
	fields                  fieldFlags
	tags, addTags, dropTags []string
}

func newEntryUpdate(r *remote) *cobra.Command {
	var out term.Format
	var change entryChange
	c := &cobra.Command{
		Use: "update ENTRY", Aliases: []string{"edit", "set"},
		Short: "Change an entry",
		Long: `Change what is given and leave the rest. Fields are merged by key: --field
sets one, --remove-field removes one. --tag replaces all tags (--tag ''
removes them all), while --add-tag and --remove-tag change the present ones.

Another name or external id of a payee with an account that can be paid waits
for a second person, where there is one, and so does activating a payee.`,
		Example: `  bursar directory update "Ada Lovelace" --field phone="+44 20 7946 0000"
  bursar directory update "Ada Lovelace" --add-tag vip --remove-tag speaker
  bursar directory update "Ada Lovelace" --remove-field phone --field employees:=13
  bursar directory update entry_01jd2q4h6k8m0n2p4r6s8t0v2w --status inactive`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeEntry(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := change.params(c, r.terminal.In)
			if err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			e, err := r.findEntry(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if p.Tags == nil {
				if p.Tags, err = s.changedTags(c.Context(), e, change.addTags, change.dropTags); err != nil {
					return err
				}
			}
			updated, err := s.Directory.Update(c.Context(), e.ID, p)
			if err != nil {
				return fmt.Errorf("update %s: %w", term.Printable(named(e)), err)
			}
			if err := r.say("Updated %s.", named(e)); err != nil {
				return err
			}
			if updated.PendingChange != nil {
				if err := r.say("%s waits for approval: %s.", pendingText(updated.PendingChange), updated.ApprovalID); err != nil {
					return err
				}
			}
			return out.Write(r.terminal, updated, func(io.Writer) error { return nil })
		},
	}
	change.bind(r, c)
	out.Bind(c, false)
	return r.inWorkspace(c)
}

// pendingText describes the pending change of an entry.
func pendingText(c *api.PendingChange) string {
	switch {
	case c.Operation == "merge":
		return "A merge"
	case c.Operation != "":
		return "The undo of a merge"
	}
	var parts []string
	for _, one := range []struct {
		what  string
		value *string
	}{{"name", cmp.Or(c.Label, c.Name)}, {"external id", c.ExternalID}, {"status", c.Status}} {
		if one.value != nil {
			parts = append(parts, one.what+" "+cmp.Or(*one.value, "none"))
		}
	}
	text := strings.Join(parts, ", ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func (e *entryChange) bind(r *remote, c *cobra.Command) {
	e.properties.bind(c, false)
	e.fields.bind(c)
	c.Flags().StringArrayVar(&e.fields.remove, "remove-field", nil, "remove the field with this `key`; repeatable")
	c.Flags().StringArrayVar(&e.tags, "tag", nil, "a `tag` that replaces the present ones, by name or id; repeatable")
	c.Flags().StringArrayVar(&e.addTags, "add-tag", nil, "a `tag` to add; repeatable")
	c.Flags().StringArrayVar(&e.dropTags, "remove-tag", nil, "a `tag` to remove; repeatable")
	c.MarkFlagsMutuallyExclusive("tag", "add-tag")
	c.MarkFlagsMutuallyExclusive("tag", "remove-tag")
	for _, flag := range []string{"tag", "add-tag", "remove-tag"} {
		completeFlag(c, flag, r.completeTags())
	}
}

// params returns the changes that do not depend on the present entry.
func (e *entryChange) params(c *cobra.Command, stdin io.Reader) (p client.EntryUpdateParams, err error) {
	if p.Fields, err = e.fields.list(stdin); err != nil {
		return p, err
	}
	changed, err := e.properties.change(c, &p)
	if c.Flags().Changed("tag") {
		p.Tags = slices.DeleteFunc(append([]string{}, e.tags...), func(tag string) bool { return tag == "" })
	}
	if !changed && p.Fields == nil && p.Tags == nil && len(e.addTags)+len(e.dropTags) == 0 {
		return p, term.Usagef("say what to change: --name, --label, --status, --field, --fields-json, --remove-field, --tag, --add-tag or --remove-tag")
	}
	return p, err
}

// changedTags returns the tags of an entry with some added and some removed, or nil if nothing changes. The API only replaces the whole
// list.
func (s *session) changedTags(ctx context.Context, e *api.Entry, add, drop []string) ([]string, error) {
	if len(add)+len(drop) == 0 {
		return nil, nil
	}
	names, err := s.tagNames(ctx, e.WorkspaceID, append(slices.Clone(add), drop...))
	if err != nil {
		return nil, err
	}
	add, drop = names[:len(add)], names[len(add):]
	same := func(tag string) func(string) bool {
		return func(other string) bool { return strings.EqualFold(tag, other) }
	}
	tags := append([]string{}, e.Tags...)
	for _, tag := range drop {
		if !slices.ContainsFunc(e.Tags, same(tag)) {
			return nil, fmt.Errorf("%s doesn't have the tag %q", term.Printable(named(e)), tag)
		}
		tags = slices.DeleteFunc(tags, same(tag))
	}
	for _, tag := range add {
		if !slices.ContainsFunc(tags, same(tag)) {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}
