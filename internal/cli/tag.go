package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func appliesTo() []string {
	return []string{client.AppliesToAll, client.TypePerson, client.TypeOrganization}
}

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

func newTagList(r *remote) *cobra.Command {
	var kind, workspace string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tags",
		Example: `  bursar directory tags list
  bursar directory tags list --applies-to person --jq '.[].name'`,
	}, list[api.Tag]{
		noun: "tags",
		rows: func(ctx context.Context, _ int) (iter.Seq2[api.Tag, error], error) {
			if err := oneOf("applies-to", kind, appliesTo()); err != nil {
				return nil, err
			}
			s, w, err := r.connectWorkspace(ctx)
			if err != nil {
				return nil, err
			}
			workspace = term.Printable(w.Name)
			return s.tagsFor(ctx, w.ID, kind), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "applies to", "id"}, Empty: "No matching tags in " + workspace + "."}
		},
		cells: func(_ term.Format, t api.Tag) []string { return []string{t.Name, t.AppliesTo, t.ID} },
	})
	c.Flags().StringVar(&kind, "applies-to", "", "only tags for these entries: all, person or organization")
	completeWords(c, "applies-to", appliesTo())
	return r.inWorkspace(c)
}

func newTagCreate(r *remote) *cobra.Command {
	var out term.Format
	var kind string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a tag",
		Long: `Create a tag and print its id. Giving an entry an unknown tag creates the tag,
too, for entries of all types; both need the permission ws.tags.write.`,
		Example: `  bursar directory tags create speaker --applies-to person
  bursar directory tags create "paid by card" --json`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf("applies-to", kind, appliesTo()); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			made, err := s.Tags.Create(c.Context(), client.TagCreateParams{WorkspaceID: w.ID, Name: args[0], AppliesTo: notEmpty(kind)})
			if err != nil {
				return fmt.Errorf("create the tag %q: %w", args[0], err)
			}
			if err := r.say("Created tag %s in %s.", made.Name, w.Name); err != nil {
				return err
			}
			return out.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&kind, "applies-to", client.AppliesToAll, "entries that can have the tag: all, person or organization")
	completeWords(c, "applies-to", appliesTo())
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func newTagRename(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use:   "rename TAG NAME",
		Short: "Rename a tag",
		Long:  `Rename a tag. Its entries keep it under the new name.`,
		Example: `  bursar directory tags rename speaker keynote
  bursar directory tags rename speaker Speaker`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: r.completeTag(false),
		RunE: func(c *cobra.Command, args []string) error {
			return r.updateTag(c.Context(), args[0], client.TagUpdateParams{Name: &args[1]}, out)
		},
	}
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func newTagUpdate(r *remote) *cobra.Command {
	var out term.Format
	var name, kind string
	c := &cobra.Command{
		Use: "update TAG", Aliases: []string{"edit"},
		Short: "Change the name of a tag or the entries it applies to",
		Long: `Change a tag. It cannot be restricted to a type while entries of another type
have it.`,
		Example: `  bursar directory tags update speaker --applies-to person
  bursar directory tags update speaker --name keynote --applies-to all`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTag(false),
		RunE: func(c *cobra.Command, args []string) error {
			var p client.TagUpdateParams
			if c.Flags().Changed("name") {
				p.Name = &name
			}
			if c.Flags().Changed("applies-to") {
				p.AppliesTo = &kind
			}
			if p == (client.TagUpdateParams{}) {
				return term.Usagef("nothing to change: pass --name or --applies-to")
			}
			if err := oneOf("applies-to", kind, appliesTo()); err != nil {
				return err
			}
			return r.updateTag(c.Context(), args[0], p, out)
		},
	}
	c.Flags().StringVar(&name, "name", "", "new name")
	c.Flags().StringVar(&kind, "applies-to", "", "entries that can have the tag: all, person or organization")
	completeWords(c, "applies-to", appliesTo())
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func (r *remote) updateTag(ctx context.Context, ref string, p client.TagUpdateParams, out term.Format) error {
	s, w, err := r.connectWorkspace(ctx)
	if err != nil {
		return err
	}
	t, err := s.findTag(ctx, w.ID, ref)
	if err != nil {
		return err
	}
	updated, err := s.Tags.Update(ctx, t.ID, p)
	if err != nil {
		return fmt.Errorf("update the tag %q: %w", t.Name, err)
	}
	if updated.Name != t.Name {
		err = r.say("Renamed tag %s to %s.", t.Name, updated.Name)
	} else {
		err = r.say("Updated tag %s: it applies to %s.", updated.Name, updated.AppliesTo)
	}
	if err != nil {
		return err
	}
	return out.Write(r.terminal, updated, nothing)
}

func newTagDelete(r *remote) *cobra.Command {
	var out term.Format
	var yes bool
	c := &cobra.Command{
		Use: "delete TAG…", Aliases: []string{"rm"},
		Short: "Delete tags and remove them from all entries",
		Long: `Delete tags and remove them from all entries. This cannot be undone, so the
command asks first, unless you pass --yes. With --json, each deleted tag is a
line.`,
		Example: `  bursar directory tags delete speaker
  bursar directory tags delete speaker keynote --yes`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: r.completeTag(true),
		RunE: func(c *cobra.Command, args []string) error {
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			list, names := []api.Tag{}, []string{}
			for _, ref := range args {
				t, err := s.findTag(c.Context(), w.ID, ref)
				if err != nil {
					return err
				}
				if !slices.Contains(list, t) {
					list, names = append(list, t), append(names, term.Printable(t.Name))
				}
			}
			if err := r.terminal.Confirm(c.Context(), "Delete "+strings.Join(names, ", ")+" and remove them from all entries? This cannot be undone.", yes); err != nil {
				return err
			}
			for _, t := range list {
				deleted, err := s.Tags.Delete(c.Context(), t.ID)
				if err != nil {
					return fmt.Errorf("delete the tag %q: %w", t.Name, err)
				}
				if err := r.say("Deleted tag %s.", t.Name); err != nil {
					return err
				}
				if err := out.Write(r.terminal, deleted, nothing); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	out.Bind(c, false)
	return r.inWorkspace(c)
}
