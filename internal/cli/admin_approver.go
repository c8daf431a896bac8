package cli

import (
	"github.com/spf13/cobra"

	"bursar/internal/workspace"
)

func newApproverAppoint(t Terminal) *cobra.Command {
	var email, id string
	c := adminCommand{
		use: "appoint", short: "Appoint an approver of a workspace",
		long: `Appoint an approver of a workspace in an emergency: where the last person who
could approve has gone, and changes wait. The user becomes a member with the
role disbursement_authorizer. Their approvals count after the wait of a new
approver, 24 hours unless the workspace has decided otherwise. The server
mails the approvers of the workspace and the owners of its organization.`,
		example:  `  bursar admin approver appoint --user grace@example.com --workspace ws_01jd2m8k3vq7w5x9y0z1a2b3c4`,
		required: []string{"user", "workspace"},
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			done, err := workspace.Appoint(c.Context(), s.db, operator(), id, email)
			return done, "Appointed " + email + ". Their approvals count after the wait of a new approver.", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "user", "", "email address of the user")
	c.Flags().StringVar(&id, "workspace", "", "id of the workspace")
	return c
}
