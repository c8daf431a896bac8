package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
)

func newDirectory(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:   "directory",
		Short: "Manage the people and organizations that a workspace pays",
		Long: `The directory holds the people and organizations that a workspace pays.

ENTRY is the id of an entry, or its label in upper or lower case. If several
entries have the label, the command asks which one you mean; in a script it
fails and lists their ids.`,
		Example: `  bursar directory list --type person --tag speaker
  bursar directory create --name "Ada Lovelace" --field email=ada@example.com
  bursar directory get "Ada Lovelace"
  bursar directory update "Ada Lovelace" --add-tag vip`,
	}, newEntryList(r), newEntrySearch(r), newEntryGet(r), newEntryHistory(r), newEntryCreate(r), newEntryUpdate(r), newEntryDelete(r), newEntryRestore(r),
		newEntryDuplicates(r), newEntryMerge(r), newEntryUnmerge(r),
		newTags(r), newDirectoryImport(r), newDirectoryExport(r), newDirectoryBulk(r))
}

// oneOf checks that a flag has one of the possible values. The API would return an empty list for an unknown one, which hides a typing
// mistake.
func oneOf(flag, value string, options []string) error {
	if value == "" || slices.Contains(options, value) {
		return nil
	}
	return term.Usagef("--%s must be %s, not %q", flag, strings.Join(options, " or "), value)
}

// completeWords completes a flag from a fixed list.
func completeWords(c *cobra.Command, flag string, words []string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlag completes a flag from the server.
func completeFlag(c *cobra.Command, flag string, fn cobra.CompletionFunc) {
	_ = c.RegisterFlagCompletionFunc(flag, fn)
}

// say writes a message to standard error, because standard output is for results.
func (r *remote) say(format string, args ...any) error {
	_, err := fmt.Fprintln(r.terminal.Err, term.Printable(fmt.Sprintf(format, args...)))
	return err
}

// named returns the name of an entry in messages.
func named(e *api.Entry) string { return e.Label + " (" + e.ID + ")" }
