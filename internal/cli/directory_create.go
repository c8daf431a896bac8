package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

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
