package cli

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newTags(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "tags", Aliases: []string{"tag"},
		Short: "Manage the tags of the directory",
		Long: `Tags group the entries of the directory. TAG is the name of a tag, in upper or
lower case, or its id. A tag applies to entries of one type or of all types.`,
		Example: `  bursar directory tags list
  bursar directory tags create speaker --applies-to person
  bursar directory tags rename speaker keynote`,
	}, newTagList(r), newTagCreate(r), newTagRename(r), newTagUpdate(r), newTagDelete(r))
}

// tags finds tags.
func tags() *resource[api.Tag] {
	return &resource[api.Tag]{
		noun: "tag",
		list: func(c *call, at string, _ client.ListParams) iter.Seq2[api.Tag, error] { return tagsFor(c, at, "") },
		item: func(t api.Tag) item {
			return item{t.ID, []string{t.Name}, t.Name + "  " + t.AppliesTo + "  " + t.ID,
				described(term.Printable(t.Name), "applies to "+t.AppliesTo)}
		},
	}
}

// appliesTo is the type of entries that can have a tag.
type appliesTo string

func (*appliesTo) words() []string {
	return []string{client.AppliesToAll, client.TypePerson, client.TypeOrganization}
}

// tagsFor returns the tags that apply to a type, or all tags if no type is given.
func tagsFor(c *call, workspaceID, kind string) iter.Seq2[api.Tag, error] {
	return func(yield func(api.Tag, error) bool) {
		for t, err := range c.Tags.All(c, workspaceID, client.ListParams{}) {
			if (err != nil || kind == "" || t.AppliesTo == kind) && !yield(t, err) {
				return
			}
		}
	}
}

// tagNames replaces ids of tags with names, because entries list their tags by name.
func tagNames(c *call, refs []string) ([]string, error) {
	names := slices.Clone(refs)
	for i, ref := range refs {
		names[i] = strings.TrimSpace(ref)
		if strings.HasPrefix(names[i], "tag_") {
			t, err := tags().find(c, names[i])
			if err != nil {
				return nil, err
			}
			names[i] = t.Name
		}
	}
	return names, nil
}

func newTagList(r *remote) *cobra.Command {
	var in struct {
		AppliesTo appliesTo `flag:"applies-to" usage:"only tags for these entries: all, person or organization"`
	}
	table := &term.Table{Columns: []string{"name", "applies to", "id"}}
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tags",
		Example: `  bursar directory tags list
  bursar directory tags list --applies-to person --jq '.[].name'`,
	}, list[api.Tag]{
		noun: "tags",
		rows: func(c *call, limit int) (iter.Seq2[api.Tag, error], error) {
			table.Empty = "No matching tags in " + term.Printable(c.workspace.Name) + "."
			return tagsFor(c, c.workspace.ID, string(in.AppliesTo)), nil
		},
		table: table,
		cells: func(_ *call, t api.Tag) []string { return []string{t.Name, t.AppliesTo, t.ID} },
	})
}

func newTagCreate(r *remote) *cobra.Command {
	var in struct {
		Name      string
		AppliesTo appliesTo `flag:"applies-to" usage:"entries that can have the tag: all, person or organization" default:"all"`
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use:   "create NAME",
		Short: "Create a tag",
		Long: `Create a tag and print its id. Giving an entry an unknown tag creates the tag,
too, for entries of all types; both need the permission ws.tags.write.`,
		Example: `  bursar directory tags create speaker --applies-to person
  bursar directory tags create "paid by card" --json`,
	}, func(c *call) error {
		made, err := c.Tags.Create(c, client.TagCreateParams{WorkspaceID: c.workspace.ID, Name: in.Name, AppliesTo: notEmpty(string(in.AppliesTo))})
		if err != nil {
			return fmt.Errorf("create the tag %q: %w", in.Name, err)
		}
		c.say("Created tag %s in %s.", made.Name, c.workspace.Name)
		return c.writeLine(made, made.ID)
	})
}

func newTagRename(r *remote) *cobra.Command {
	var in struct {
		Tag  api.Tag
		Name string
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use:   "rename TAG NAME",
		Short: "Rename a tag",
		Long:  `Rename a tag. Its entries keep it under the new name.`,
		Example: `  bursar directory tags rename speaker keynote
  bursar directory tags rename speaker Speaker`,
	}, func(c *call) error {
		return updateTag(c, in.Tag, client.TagUpdateParams{Name: &in.Name})
	})
}

// tagChange are the inputs of 'directory tags update'.
type tagChange struct {
	Tag       api.Tag
	Name      *string    `flag:"name" usage:"new name"`
	AppliesTo *appliesTo `flag:"applies-to" usage:"entries that can have the tag: all, person or organization"`
}

func (t *tagChange) check() error {
	if t.Name == nil && t.AppliesTo == nil {
		return term.Usagef("nothing to change: pass --name or --applies-to")
	}
	return nil
}

func newTagUpdate(r *remote) *cobra.Command {
	var in tagChange
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "update TAG", Aliases: []string{"edit"},
		Short: "Change the name of a tag or the entries it applies to",
		Long: `Change a tag. It cannot be restricted to a type while entries of another type
have it.`,
		Example: `  bursar directory tags update speaker --applies-to person
  bursar directory tags update speaker --name keynote --applies-to all`,
	}, func(c *call) error {
		return updateTag(c, in.Tag, client.TagUpdateParams{Name: in.Name, AppliesTo: (*string)(in.AppliesTo)})
	})
}

func updateTag(c *call, t api.Tag, p client.TagUpdateParams) error {
	updated, err := c.Tags.Update(c, t.ID, p)
	if err != nil {
		return fmt.Errorf("update the tag %q: %w", t.Name, err)
	}
	if updated.Name != t.Name {
		c.say("Renamed tag %s to %s.", t.Name, updated.Name)
	} else {
		c.say("Updated tag %s: it applies to %s.", updated.Name, updated.AppliesTo)
	}
	return c.done(updated)
}

func newTagDelete(r *remote) *cobra.Command {
	var in struct {
		Tags []api.Tag
		confirmation
	}
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "delete TAG…", Aliases: []string{"rm"},
		Short: "Delete tags and remove them from all entries",
		Long: `Delete tags and remove them from all entries. This cannot be undone, so the
command asks first, unless you pass --yes. With --json, each deleted tag is a
line.`,
		Example: `  bursar directory tags delete speaker
  bursar directory tags delete speaker keynote --yes`,
	}, func(c *call) error {
		var names []string
		for _, t := range in.Tags {
			names = append(names, t.Name)
		}
		if err := c.confirm(in.confirmation, "Delete %s and remove them from all entries? This cannot be undone.",
			strings.Join(names, ", ")); err != nil {
			return err
		}
		for _, t := range in.Tags {
			deleted, err := c.Tags.Delete(c, t.ID)
			if err != nil {
				return fmt.Errorf("delete the tag %q: %w", t.Name, err)
			}
			c.say("Deleted tag %s.", t.Name)
			if err := c.done(deleted); err != nil {
				return err
			}
		}
		return nil
	})
}
