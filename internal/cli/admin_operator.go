package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	ops "bursar/internal/operator"
)

func newOperatorAdd(t Terminal) *cobra.Command {
	var email string
	var permissions []string
	c := adminCommand{
		use: "add EMAIL", short: "Make a user an operator, or change what an operator may do",
		long: `Make a user an operator of the store. Operators have pages at /ops: they see
organizations, users, rails and the audit log of the operator (ops.read),
confirm deposits into live accounts (ops.money), and disable and reset users
and appoint approvers (ops.access). They sign in as before, within the last 15
minutes. Every operator has ops.read.

Where there are two operators, some of this takes both: see
'bursar ops requests'.`,
		example: `  bursar admin operator add grace@example.com
  bursar admin operator add grace@example.com --permission ops.read,ops.money`,
		required: []string{"email"}, argument: "email",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			o, err := ops.Add(c.Context(), s.db, operator(), email, permissions)
			return o, "Operator     " + o.Email + "\nPermissions  " + strings.Join(o.Permissions, ", "), err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the user")
	c.Flags().StringSliceVar(&permissions, "permission", []string{"ops.read", "ops.money", "ops.access"}, "what the operator may do")
	return c
}

func newOperatorList(t Terminal) *cobra.Command {
	return adminCommand{
		use: "list", short: "List the operators",
		example: `  bursar admin operator list
  bursar admin operator list --json`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			list, err := ops.List(c.Context(), s.db)
			lines := []string{}
			for _, o := range list {
				lines = append(lines, fmt.Sprintf("%s  %s  %s", o.Email, o.Status, strings.Join(o.Permissions, ", ")))
			}
			if len(list) == 0 {
				lines = []string{"There are no operators. Add one with 'bursar admin operator add'."}
			}
			return list, strings.Join(lines, "\n"), err
		},
	}.command(t)
}

func newOperatorRemove(t Terminal) *cobra.Command {
	var email string
	c := adminCommand{
		use: "remove EMAIL", short: "End that a user is an operator",
		long:     `End that a user is an operator. It takes effect on their next request.`,
		example:  `  bursar admin operator remove grace@example.com`,
		required: []string{"email"}, argument: "email",
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			id, err := ops.Remove(c.Context(), s.db, operator(), email)
			return map[string]any{"user_id": id, "removed": true}, email + " is no longer an operator", err
		},
	}.command(t)
	c.Flags().StringVar(&email, "email", "", "email address of the operator")
	return c
}
