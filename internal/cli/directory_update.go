package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// entryChange contains the changes that a command's flags request.
type entryChange struct {
	Entry                   api.Entry
	r                       *remote
	c                       *cobra.Command
	p                       client.EntryUpdateParams
	properties              propertyFlags
	fields                  fieldFlags
	tags, addTags, dropTags []string
}

func newEntryUpdate(r *remote) *cobra.Command {
	var in entryChange
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
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
	}, func(c *call) error {
		e := &in.Entry
		if in.p.Tags == nil {
			var err error
			if in.p.Tags, err = changedTags(c, e, in.addTags, in.dropTags); err != nil {
				return err
			}
		}
		updated, err := c.Directory.Update(c, e.ID, in.p)
		if err != nil {
			return fmt.Errorf("update %s: %w", term.Printable(named(e)), err)
		}
		c.say("Updated %s.", named(e))
		if updated.PendingChange != nil {
			c.say("%s waits for approval: %s.", pendingText(updated.PendingChange), updated.ApprovalID)
		}
		return c.done(updated)
	})
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
	e.r, e.c = r, c
	e.properties.bind(c, false)
	e.fields.bind(r, c)
	c.Flags().StringArrayVar(&e.fields.remove, "remove-field", nil, "remove the field with this `key`; repeatable")
	bindTags(r, c, &e.tags, "tag", "a `tag` that replaces the present ones, by name or id; repeatable")
	bindTags(r, c, &e.addTags, "add-tag", "a `tag` to add; repeatable")
	bindTags(r, c, &e.dropTags, "remove-tag", "a `tag` to remove; repeatable")
	c.MarkFlagsMutuallyExclusive("tag", "add-tag")
	c.MarkFlagsMutuallyExclusive("tag", "remove-tag")
}

// check reads the changes that do not depend on the present entry.
func (e *entryChange) check() (err error) {
	if e.p.Fields, err = e.fields.list(e.r.terminal.In); err != nil {
		return err
	}
	changed, err := e.properties.change(e.c, &e.p)
	if e.c.Flags().Changed("tag") {
		e.p.Tags = slices.DeleteFunc(append([]string{}, e.tags...), func(tag string) bool { return tag == "" })
	}
	if !changed && e.p.Fields == nil && e.p.Tags == nil && len(e.addTags)+len(e.dropTags) == 0 {
		return term.Usagef("say what to change: --name, --label, --status, --field, --fields-json, --remove-field, --tag, --add-tag or --remove-tag")
	}
	return err
}

// changedTags returns the tags of an entry with some added and some removed, or nil if nothing changes. The API only replaces the whole
// list.
func changedTags(c *call, e *api.Entry, add, drop []string) ([]string, error) {
	if len(add)+len(drop) == 0 {
		return nil, nil
	}
	names, err := tagNames(c, append(slices.Clone(add), drop...))
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
