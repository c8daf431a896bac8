package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// bind adds the flags for fields.
func (f *fieldFlags) bind(_ *remote, c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.set, "field", "f", nil, "set a field to a text: `key=text`, or to any value: key:=json; repeatable")
	c.Flags().StringVar(&f.file, "fields-json", "", "read fields from a `file` with a JSON object, - for standard input")
}

// entryCreation are the inputs of 'directory create'.
type entryCreation struct {
	Type        entryType   `flag:"type" usage:"person or organization" default:"person"`
	OnDuplicate onDuplicate `flag:"on-duplicate" usage:"what to do if it may be a double: allow, warn or refuse"`
	r           *remote
	properties  propertyFlags
	flags       fieldFlags
	p           client.EntryCreateParams
}

func (e *entryCreation) bind(r *remote, c *cobra.Command) {
	e.r = r
	e.properties.bind(c, true)
	e.flags.bind(r, c)
	bindTags(r, c, &e.p.Tags, "tag", "a `tag`, by name or id; repeatable")
}

func (e *entryCreation) check() (err error) {
	e.p.Fields, err = e.flags.list(e.r.terminal.In)
	if named := e.properties.fill(&e.p); err == nil && !named && e.p.Fields == nil {
		err = term.Usagef("an entry needs a name: pass --name, --label, --field or --fields-json")
	}
	return err
}

// bindTags adds a flag for names of tags.
func bindTags(r *remote, c *cobra.Command, to *[]string, flag, usage string) {
	c.Flags().StringArrayVar(to, flag, nil, usage)
	completeFlag(c, flag, tags().completion(r))
}

func newEntryCreate(r *remote) *cobra.Command {
	var in entryCreation
	return newCommand(r, inWorkspace, &in, &cobra.Command{
		Use: "create", Aliases: []string{"add", "new"},
		Short: "Add a person or an organization",
		Long: `Add an entry to the directory and print its id.

Fields are free keys with any values; Bursar itself understands the keys name,
first-name, last-name, email, phone and industry. A value after = is text, one
after := is JSON. Without --label, lists show the name, or else a field. A tag
that does not exist yet is created, which needs the permission ws.tags.write.

An entry with the e-mail address, phone number or name of another may be a
double of it. With --on-duplicate warn the command names the others, and with
refuse it creates nothing; without it, the setting of the workspace counts.`,
		Example: `  bursar directory create --name "Ada Lovelace" --field email=ada@example.com --tag speaker
  bursar directory create --type organization --name "Analytical Engines" --field employees:=12
  jq .ada people.json | bursar directory create --name "Ada Lovelace" --fields-json -`,
	}, func(c *call) error {
		in.p.WorkspaceID, in.p.Type = c.workspace.ID, string(in.Type)
		made, err := c.Directory.CreateUnlessDouble(c, in.p, string(in.OnDuplicate))
		if err != nil {
			return c.refusedDuplicate(fmt.Errorf("create the entry: %w", err))
		}
		called := cmp.Or(*in.properties["label"], *in.properties["name"], in.p.Fields.Text(api.FieldName), "the "+in.p.Type)
		c.say("Created %s in %s.", called, c.workspace.Name)
		c.sayDuplicates(made.Duplicates)
		return c.writeLine(made, made.ID)
	})
}

// sayDuplicates lists the possible duplicates of a new entry.
func (c *call) sayDuplicates(list []api.Duplicate) {
	if len(list) > 0 {
		c.say("It may be a double of:")
		_ = writeDuplicates(c.r.terminal.Err, list)
	}
}

// refusedDuplicate lists the duplicates for which a new entry was refused, and adds the next step to the error.
func (c *call) refusedDuplicate(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != api.CodeDuplicateEntry {
		return err
	}
	var details api.Duplicates
	_ = json.Unmarshal(refused.Details, &details) // without them, the error still states the reason
	c.sayDuplicates(details.Duplicates)
	return withHint(err, "Pass --on-duplicate warn to create it all the same.")
}

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

func newEntryDelete(r *remote) *cobra.Command {
	var in struct{ Entries []api.Entry }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "delete ENTRY…", Aliases: []string{"rm"},
		Short: "Delete entries",
		Long: `Delete entries. They disappear from all lists immediately and can be restored
for 30 days. If one of them cannot be found, none is deleted. With --json,
each deleted entry is a line.`,
		Example: `  bursar directory delete "Ada Lovelace"
  bursar directory delete entry_01jd2q4h6k8m0n2p4r6s8t0v2w entry_01jd2q4h6k8m0n2p4r6s8t0v2x
  bursar directory list --tag duplicate --all --jq '.[].id' | xargs bursar directory delete`,
	}, func(c *call) error {
		for _, e := range in.Entries {
			deleted, err := c.Directory.Delete(c, e.ID)
			if err != nil {
				return fmt.Errorf("delete %s: %w", term.Printable(named(&e)), err)
			}
			c.say("Deleted %s. You can restore it within 30 days with 'bursar directory restore %s'.", named(&e), e.ID)
			if err := c.done(deleted); err != nil {
				return err
			}
		}
		return nil
	})
}

func newEntryRestore(r *remote) *cobra.Command {
	var in struct{ Entries []deletedEntry }
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use:   "restore ENTRY…",
		Short: "Restore deleted entries",
		Long: `Restore entries that were deleted in the last 30 days, with their tags and
receiving methods. To restore by label you need to be able to read the audit
log, in which deleted entries are found. With --json, each restored entry is a
line.`,
		Example: `  bursar directory restore entry_01jd2q4h6k8m0n2p4r6s8t0v2w
  bursar directory restore "Ada Lovelace"
  bursar audit list --action directory.entry.deleted`,
	}, func(c *call) error {
		for _, one := range in.Entries {
			restored, err := c.Directory.Restore(c, one.ID)
			if err != nil {
				return fmt.Errorf("restore %s: %w", term.Printable(one.ID), err)
			}
			called := one.ID
			if e, err := c.Directory.Get(c, one.ID); err == nil {
				called = named(e)
			}
			c.say("Restored %s.", called)
			if err := c.done(restored); err != nil {
				return err
			}
		}
		return nil
	})
}

// deletedEntry is an entry that can be restored.
type deletedEntry struct{ ID string }

// deletedEntriesByName finds deleted entries by id or label.
func deletedEntriesByName() *resource[deletedEntry] {
	return &resource[deletedEntry]{
		noun: "deleted entry",
		item: func(e deletedEntry) item { return item{id: e.ID} },
		direct: func(c *call, ref string) (deletedEntry, bool, error) {
			if strings.HasPrefix(ref, entryPrefix) && !term.IsShortID(ref) {
				return deletedEntry{ref}, true, nil
			}
			all, err := deletedEntries(c)
			if err != nil {
				return deletedEntry{}, false, err
			}
			id, err := pick(c, c.terminal, "deleted entry", ref, all)
			return deletedEntry{id}, true, err
		},
		words: func(c *call, _ []string, begun string) (words []string, err error) {
			all, err := deletedEntries(c)
			for _, one := range all {
				if strings.HasPrefix(one.id, begun) {
					words = append(words, described(one.id, one.names[0]))
				}
			}
			return words, err
		},
	}
}
