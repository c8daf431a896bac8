package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bursar/client"
)

// bind adds the flags by which fields are given.
func (f *fieldFlags) bind(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.set, "field", "f", nil, "set a field to a text: `key=text`, or to any value: key:=json; repeatable")
	c.Flags().StringVar(&f.file, "fields-json", "", "read fields from a `file` with a JSON object, - for standard input")
}

func newEntryCreate(r *remote) *cobra.Command {
	var out format
	var fields fieldFlags
	var p client.EntryCreateParams
	c := &cobra.Command{
		Use: "create", Aliases: []string{"add", "new"},
		Short: "Add a person or an organization",
		Long: `Add an entry to the directory and write its id.

Fields are free keys with any values; the keys email, phone, name, first-name,
last-name and industry are known to other parts of Bursar. A value after = is
taken as text, one after := as JSON. Without --label the entry is called by its
name, else by its fields. A tag that does not exist yet is made.`,
		Example: `  bursar directory create --name "Ada Lovelace" --field email=ada@example.com --tag speaker
  bursar directory create --type organization --name "Analytical Engines" --field employees:=12
  jq .ada people.json | bursar directory create --name "Ada Lovelace" --fields-json -`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := fields.list(r.terminal.In)
			if err == nil && p.Name == "" && p.Label == "" && list == nil {
				err = usageError{errors.New("an entry needs something to be told by: give --name, --label, --field or --fields-json")}
			}
			if err = errors.Join(err, oneOf("type", p.Type, entryTypes())); err != nil {
				return err
			}
			s, w, err := r.work(c.Context())
			if err != nil {
				return err
			}
			p.WorkspaceID = w.ID
			if list != nil {
				p.Fields = list
			}
			made, err := s.Directory.Create(c.Context(), p)
			if err != nil {
				return fmt.Errorf("create the entry: %w", err)
			}
			called := cmp.Or(p.Label, p.Name, list.text("name"), "the "+p.Type)
			if err := r.say("Created %s in %s.", called, w.Name); err != nil {
				return err
			}
			return out.write(r.terminal, made, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, made.ID)
				return err
			})
		},
	}
	c.Flags().StringVar(&p.Type, "type", client.TypePerson, "person or organization")
	c.Flags().StringVar(&p.Name, "name", "", "the name")
	c.Flags().StringVar(&p.Label, "label", "", "what lists call the entry, where it is not the name")
	c.Flags().StringArrayVar(&p.Tags, "tag", nil, "a `tag`, by name or id; repeatable")
	fields.bind(c)
	completeWords(c, "type", entryTypes())
	completeFlag(c, "tag", r.completeTags())
	out.bind(c, false)
	return r.inWorkspace(c)
}
