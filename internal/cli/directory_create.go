package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// bind adds the flags for fields.
func (f *fieldFlags) bind(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.set, "field", "f", nil, "set a field to a text: `key=text`, or to any value: key:=json; repeatable")
	c.Flags().StringVar(&f.file, "fields-json", "", "read fields from a `file` with a JSON object, - for standard input")
}

func newEntryCreate(r *remote) *cobra.Command {
	var out term.Format
	var fields fieldFlags
	var properties propertyFlags
	var p client.EntryCreateParams
	var onDuplicate string
	c := &cobra.Command{
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
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := fields.list(r.terminal.In)
			if named := properties.fill(&p); err == nil && !named && list == nil {
				err = term.Usagef("an entry needs a name: pass --name, --label, --field or --fields-json")
			}
			if err = errors.Join(err, oneOf("type", p.Type, api.EntryTypes()), oneOf("on-duplicate", onDuplicate, api.OnDuplicates())); err != nil {
				return err
			}
			s, w, err := r.connectWorkspace(c.Context())
			if err != nil {
				return err
			}
			p.WorkspaceID, p.Fields = w.ID, list
			made, err := s.Directory.CreateUnlessDouble(c.Context(), p, onDuplicate)
			if err != nil {
				return r.tellDoubles(fmt.Errorf("create the entry: %w", err))
			}
			called := cmp.Or(*properties["label"], *properties["name"], list.Text(api.FieldName), "the "+p.Type)
			if err := r.say("Created %s in %s.", called, w.Name); err != nil {
				return err
			}
			if err := r.sayDoubles(made.Duplicates); err != nil {
				return err
			}
			return out.Write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&p.Type, "type", client.TypePerson, "person or organization")
	properties.bind(c, true)
	c.Flags().StringArrayVar(&p.Tags, "tag", nil, "a `tag`, by name or id; repeatable")
	c.Flags().StringVar(&onDuplicate, "on-duplicate", "", "what to do if it may be a double: allow, warn or refuse")
	fields.bind(c)
	completeWords(c, "type", api.EntryTypes())
	completeWords(c, "on-duplicate", api.OnDuplicates())
	completeFlag(c, "tag", r.completeTags())
	out.Bind(c, false)
	return r.inWorkspace(c)
}

// sayDoubles lists the possible duplicates of a new entry.
func (r *remote) sayDoubles(list []api.Duplicate) error {
	if len(list) == 0 {
		return nil
	}
	if err := r.say("It may be a double of:"); err != nil {
		return err
	}
	return writeDuplicates(r.terminal.Err, list)
}

// tellDoubles lists the duplicates for which a new entry was refused, and the next steps.
func (r *remote) tellDoubles(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != api.CodeDuplicateEntry {
		return err
	}
	var details api.Duplicates
	_ = json.Unmarshal(refused.Details, &details) // without them, the error still states the reason
	if err := r.sayDoubles(details.Duplicates); err != nil {
		return err
	}
	return withHint(err, "Pass --on-duplicate warn to create it all the same.")
}
