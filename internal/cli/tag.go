package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Short: "Work with the tags that sort the directory",
		Long: `Tags sort the directory. TAG is the name of a tag, whatever its case, or its id.
A tag applies to entries of one type or of all.`,
		Example: `  bursar directory tags list
  bursar directory tags create speaker --applies-to person
  bursar directory tags rename speaker keynote`,
	}, newTagList(r), newTagCreate(r), newTagRename(r), newTagUpdate(r), newTagDelete(r))
}

func newTagList(r *remote) *cobra.Command {
	var out term.Format
	var kind string
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short: "List the tags",
		Example: `  bursar directory tags list
  bursar directory tags list --applies-to person --jq '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(rows.check(), oneOf("applies-to", kind, appliesTo())); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, s.tagsFor(c.Context(), w.ID, kind))
			if err != nil {
				return fmt.Errorf("list the tags of %s: %w", term.Printable(w.Name), err)
			}
			shown := &term.Table{Columns: []string{"name", "applies to", "id"}, Empty: "There are no such tags in " + term.Printable(w.Name) + " yet."}
			for _, t := range list {
				shown.Add(t.Name, t.AppliesTo, t.ID)
			}
			return out.WriteTable(r.terminal, list, shown)
		},
	}
	c.Flags().StringVar(&kind, "applies-to", "", "only tags for these entries: all, person or organization")
	rows.bind(c)
	completeWords(c, "applies-to", appliesTo())
	out.Bind(c, true)
	return r.inWorkspace(c)
}

func newTagCreate(r *remote) *cobra.Command {
	var out term.Format
	var kind string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a tag",
		Long: `Make a tag and write its id. An entry that is given an unknown tag makes it, too,
for entries of all types.`,
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
			if err := r.say("Created the tag %s in %s.", made.Name, w.Name); err != nil {
				return err
			}
			return out.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&kind, "applies-to", client.AppliesToAll, "which entries may carry it: all, person or organization")
	completeWords(c, "applies-to", appliesTo())
	out.Bind(c, false)
	return r.inWorkspace(c)
}

func newTagRename(r *remote) *cobra.Command {
	var out term.Format
	c := &cobra.Command{
		Use:   "rename TAG NAME",
		Short: "Rename a tag",
		Long:  `Rename a tag. The entries that carry it keep it under its new name.`,
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
		Short: "Change the name of a tag, or what it applies to",
		Long: `Change a tag. It cannot be narrowed to a type while entries of another type carry
it.`,
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
				return term.Usagef("say what to change: --name or --applies-to")
			}
			if err := oneOf("applies-to", kind, appliesTo()); err != nil {
				return err
			}
			return r.updateTag(c.Context(), args[0], p, out)
		},
	}
	c.Flags().StringVar(&name, "name", "", "the new name")
	c.Flags().StringVar(&kind, "applies-to", "", "which entries may carry it: all, person or organization")
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
		err = r.say("The tag %s is now %s.", t.Name, updated.Name)
	} else {
		err = r.say("Updated the tag %s: it applies to %s.", updated.Name, updated.AppliesTo)
	}
	if err != nil {
		return err
	}
	return out.Write(r.terminal, updated, func(io.Writer) error { return nil })
}

func newTagDelete(r *remote) *cobra.Command {
	var out term.Format
	var yes bool
	c := &cobra.Command{
		Use: "delete TAG…", Aliases: []string{"rm"},
		Short: "Take tags off all entries and delete them",
		Long: `Take tags off all entries and delete them. There is no way back, so it asks first,
unless --yes is given. With --json a line is written for each.`,
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
			if err := r.terminal.Confirm("Delete "+strings.Join(names, ", ")+" for good, off all entries?", yes); err != nil {
				return err
			}
			for _, t := range list {
				deleted, err := s.Tags.Delete(c.Context(), t.ID)
				if err != nil {
					return fmt.Errorf("delete the tag %q: %w", t.Name, err)
				}
				if err := r.say("Deleted the tag %s.", t.Name); err != nil {
					return err
				}
				if err := out.Write(r.terminal, deleted, func(io.Writer) error { return nil }); err != nil {
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
