package cli

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/auditlog"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
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

func newEntryGet(r *remote) *cobra.Command {
	var in struct {
		Entry   api.Entry
		Numbers bool `flag:"show-numbers" usage:"show account numbers in full"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "get ENTRY", Aliases: []string{"show", "view"},
		Short: "Show an entry with its fields, tags and receiving methods",
		Long: `Show everything about an entry. Account numbers are masked except for the last
four digits, unless you pass --show-numbers. --json and --jq write the API's
data, in which nothing is masked.`,
		Example: `  bursar directory get "Ada Lovelace"
  bursar directory get entry_01jd2q4h6k8m0n2p4r6s8t0v2w --show-numbers
  bursar directory get "Ada Lovelace" --jq .fields.email`,
	}, func(c *call) error {
		return c.write(in.Entry, func(w io.Writer) error { return r.writeEntry(w, &in.Entry, in.Numbers) })
	})
}

func (r *remote) writeEntry(w io.Writer, e *api.Entry, numbers bool) error {
	pairs := []string{"Label", e.Label, "Type", e.Type, "Status", e.Status}
	for _, p := range entryfile.Properties() {
		if text := *p.Of(e); p.Name != "label" && p.Name != "status" && text != "" && text != e.Label {
			pairs = append(pairs, strings.ToUpper(p.Name[:1])+strings.ReplaceAll(p.Name[1:], "_", " "), text)
		}
	}
	pairs = append(pairs, filled("Merged into", e.MergedInto)...)
	if e.PendingChange != nil {
		pairs = append(pairs, "Waits for approval", pendingText(e.PendingChange)+" ("+e.PendingChange.ApprovalID+")")
	}
	pairs = append(pairs, filled("Tags", strings.Join(e.Tags, ", "))...)
	pairs = append(pairs, "Id", e.ID, "Workspace", e.WorkspaceID, "Created", localTime(e.CreatedAt), "Updated", localTime(e.UpdatedAt))
	if len(e.Fields) > 0 {
		pairs = append(pairs, "Fields", "")
	}
	for _, one := range e.Fields {
		pairs = append(pairs, "  "+term.Printable(one.Key), one.Display())
	}
	if e.ReceivingMethods == nil {
		pairs = append(pairs, "Receiving methods", "hidden: you need the permission ws.receiving.read")
	} else if len(*e.ReceivingMethods) > 0 {
		pairs = append(pairs, "Receiving methods", "")
		for _, m := range *e.ReceivingMethods {
			pairs = append(pairs, "  "+term.Printable(m.Provider), r.methodText(m, numbers))
		}
	}
	return term.WritePairs(r.terminal, w, pairs...)
}

func newEntryHistory(r *remote) *cobra.Command {
	var in struct{ Entry entryName }
	table := &term.Table{Columns: []string{"time", "actor", "description", "changes", "outcome"}, Empty: noAuditEntries}
	return newList(r, inWorkspace, &in, &cobra.Command{
		Use:   "history ENTRY",
		Short: "Show what happened to an entry, newest first",
		Long: `Show the entries of the audit log about an entry of the directory and about
every receiving method that it has or had, newest first, with what each one
changed. --csv writes every field, as 'bursar audit export' does. You need the
permission ws.audit.read.

The log outlives the directory: the id of an entry that was deleted for good
still has its history.`,
		Example: `  bursar directory history "Ada Lovelace"
  bursar directory history "Ada Lovelace" --all --json
  bursar directory history entry_01jd2q4h6k8m0n2p4r6s8t0v2w --jq '.[].changes'`,
	}, list[api.AuditEntry]{
		noun: "history",
		rows: func(c *call, limit int) (iter.Seq2[api.AuditEntry, error], error) {
			if c.format.CSV {
				table.Columns = auditlog.Columns()
			}
			id := string(in.Entry)
			if !term.IsID(id) { // the log can contain ids that no longer exist
				var err error
				if id, err = entryID(c, id); err != nil {
					return nil, err
				}
			}
			return c.Audit.All(c, client.AuditListParams{WorkspaceID: c.workspace.ID, EntryID: id, Limit: limit}), nil
		},
		table: table,
		cells: func(c *call, row api.AuditEntry) []string {
			if c.format.CSV {
				return auditlog.Cells(row)
			}
			var changes []string
			for _, one := range row.Changes {
				changes = append(changes, one.Field+": "+r.changeText(one))
			}
			return []string{localTime(row.Timestamp), auditActor(row), auditDescription(row), strings.Join(changes, "; "), row.Outcome}
		},
	})
}

// entryName names an entry, which may have been deleted.
type entryName string

func (*entryName) completion(r *remote) cobra.CompletionFunc { return entries().completion(r) }
