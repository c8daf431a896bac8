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
	var out term.Format
	var q auditQuery
	c := &cobra.Command{
		Use: "show ID", Aliases: []string{"get", "view"},
		Short: "Show an entry of the audit log with what it changed",
		Long: `Show everything about an entry of the audit log, and each field that it
changed, before and after. '-' stands for nothing; account numbers are masked,
and of a long value you see the start, the length and the digest.

ID is what the lists show with --json or --csv. The entry is one of the
workspace; with --organization, owners see one that belongs to no workspace.`,
		Example: `  bursar audit show aud_01jd2s6w8x0y2z4a6b8c0d2e4f
  bursar audit show aud_01jd2s6w8x0y2z4a6b8c0d2e4f --jq '.changes[].field'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := q.source(c.Context(), r)
			if err != nil {
				return err
			}
			row, err := a.Audit.Get(c.Context(), a.p, args[0])
			if err != nil {
				return fmt.Errorf("show the audit entry: %w", err)
			}
			return out.Write(r.terminal, row, func(w io.Writer) error { return r.writeAuditEntry(w, *row) })
		},
	}
	c.ValidArgsFunction = byPosition(r.completeWith(func(c *call, _ []string, _ string) ([]string,
		error) {
		return auditWords(c, q.organization)
	}))
	q.bindOrganization(r, c)
	r.bindWorkspace(c)
	c.MarkFlagsMutuallyExclusive("organization", "workspace")
	out.Bind(c, false)
	return c
}

// auditWords returns the ids of the newest entries.
func auditWords(c *call, organization string) ([]string, error) {
	p := client.AuditListParams{Limit: 25}
	if organization != "" {
		o, err := organizations().find(c, organization)
		if err != nil {
			return nil, err
		}
		p.OrganizationID = o.ID
	} else {
		w, err := c.here()
		if err != nil {
			return nil, err
		}
		p.WorkspaceID = w.ID
	}
	page, err := c.Audit.List(c, p)
	if err != nil {
		return nil, err
	}
	var words []string
	for _, row := range page.Items {
		words = append(words, described(row.ID, auditDescription(row)))
	}
	return words, nil
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
