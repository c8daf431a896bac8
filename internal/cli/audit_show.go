package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newAuditShow(r *remote) *cobra.Command {
	var in struct {
		ID           string
		Organization *api.Organization `flag:"organization" usage:"entries of this organization that belong to no workspace"`
	}
	c := newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "show ID", Aliases: []string{"get", "view"},
		Short: "Show an entry of the audit log with what it changed",
		Long: `Show everything about an entry of the audit log, and each field that it
changed, before and after. '-' stands for nothing; account numbers are masked,
and of a long value you see the start, the length and the digest.

ID is what the lists show with --json or --csv. The entry is one of the
workspace; with --organization, owners see one that belongs to no workspace.`,
		Example: `  bursar audit show aud_01jd2s6w8x0y2z4a6b8c0d2e4f
  bursar audit show aud_01jd2s6w8x0y2z4a6b8c0d2e4f --jq '.changes[].field'`,
	}, func(c *call) error {
		p, err := logOf(c, in.Organization)
		if err != nil {
			return err
		}
		row, err := c.Audit.Get(c, p, in.ID)
		if err != nil {
			return fmt.Errorf("show the audit entry: %w", err)
		}
		return c.write(row, func(w io.Writer) error { return r.writeAuditEntry(w, *row) })
	})
	c.ValidArgsFunction = byPosition(auditWords(r))
	c.MarkFlagsMutuallyExclusive("organization", "workspace")
	return c
}

// logOf returns the parameters that select the log of an organization, or else of the workspace.
func logOf(c *call, o *api.Organization) (client.AuditListParams, error) {
	if o != nil {
		return client.AuditListParams{OrganizationID: o.ID}, nil
	}
	w, err := c.here()
	return client.AuditListParams{WorkspaceID: w.ID}, err
}

// auditWords completes the ids of the newest entries.
func auditWords(r *remote) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return r.completeWith(func(c *call, _ []string, _ string) (words []string, err error) {
			var o *api.Organization
			if err := organizations().fill(c, &o, "", []string{command.Flag("organization").Value.String()}); err != nil {
				return nil, err
			}
			p, err := logOf(c, o)
			if err != nil {
				return nil, err
			}
			p.Limit = 25
			page, err := c.Audit.List(c, p)
			if err != nil {
				return nil, err
			}
			for _, row := range page.Items {
				words = append(words, described(row.ID, auditDescription(row)))
			}
			return words, nil
		})(command, args, begun)
	}
}

func (r *remote) writeAuditEntry(w io.Writer, row api.AuditEntry) error {
	pairs := filled("Time", localTime(row.Timestamp), "Description", auditDescription(row), "Outcome", row.Outcome, "Action", row.Action,
		"Actor", person(row.ActorName, row.ActorEmail), "Actor type", row.ActorType, "Actor id", row.ActorID,
		"Resource type", row.ResourceType, "Resource id", row.ResourceID, "Request id", row.RequestID, "IP address", row.IP, "Id", row.ID)
	if row.Seq > 0 {
		pairs = append(pairs, "Place", strconv.FormatInt(row.Seq, 10))
	}
	if len(row.Changes) > 0 {
		pairs = append(pairs, "Changes", "")
	}
	for _, c := range row.Changes {
		pairs = append(pairs, "  "+term.Printable(c.Field), r.changeText(c))
	}
	return term.WritePairs(r.terminal, w, pairs...)
}

// auditDescription returns the subject of an entry, even if its description was erased.
func auditDescription(row api.AuditEntry) string {
	if row.Erased {
		return "(erased: the names, addresses, description and changes were removed)"
	}
	return row.Description
}

// changeText returns the values of a change before and after.
func (r *remote) changeText(c api.AuditChange) string {
	text := changedValue(c, c.Before) + " → " + changedValue(c, c.After)
	if term.IsTerminal(r.terminal.Out) && !r.terminal.Unicode() {
		text = strings.NewReplacer("→", "->", "•", "*", "…", "...").Replace(text)
	}
	return text
}

// changedValue returns one value of a change for display.
func changedValue(c api.AuditChange, value []byte) string {
	field := api.Field{Key: c.Field, Value: value}
	if cut, ok := c.Cut(value); ok {
		return cut.Start + "… (" + term.Grouped(cut.Length) + " bytes, SHA-256 " + cut.SHA256 + ")"
	}
	if at, err := strconv.ParseInt(string(value), 10, 64); err == nil && at > 0 && strings.HasSuffix(c.Field, "_at") {
		return localTime(at)
	}
	switch {
	case field.IsNull():
		return "-"
	case field.Display() == "":
		return `""`
	}
	return field.Display()
}
