package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/cli/term"
	"bursar/internal/directory/entryfile"
)

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
	if e.MergedInto != "" {
		pairs = append(pairs, "Merged into", e.MergedInto)
	}
	if e.PendingChange != nil {
		pairs = append(pairs, "Waits for approval", pendingText(e.PendingChange)+" ("+e.PendingChange.ApprovalID+")")
	}
	if len(e.Tags) > 0 {
		pairs = append(pairs, "Tags", strings.Join(e.Tags, ", "))
	}
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
