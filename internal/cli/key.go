package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// staleAfter is how long a key may be unused before the list marks it.
const staleAfter = 45 * 24 * time.Hour

func newKeys(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "keys",
		Aliases: []string{"key"},
		Short:   "Create, rotate and revoke your API keys",
		Long: `An API key lets a program act as you. Its secret is shown once, when the key
is created. Use a separate key for each program, so that you can revoke one of
them.`,
		Example: `  bursar keys list
  bursar keys create --name "Nightly reconciliation" --expires-in 90d
  bursar keys rotate "Nightly reconciliation" --grace 1h`,
	}, newOwnKeysList(r), newOwnKeysCreate(r), newOwnKeysRotate(r), newOwnKeysRevoke(r))
}

func newOwnKeysList(r *remote) *cobra.Command {
	return listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your keys",
		Long: `List your keys without their secrets. The note points out keys that have
expired or that were not used for 45 days: revoke the ones you no longer need.
--json has the permissions and workspaces that a key is limited to.`,
		Example: `  bursar keys list
  bursar keys list --jq '.[] | select(.expires_at == null).name'`,
	}, list[api.APIKey]{
		noun: "keys",
		rows: func(ctx context.Context, limit int) (iter.Seq2[api.APIKey, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			return s.Keys.All(ctx, client.ListParams{Limit: limit}), nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"name", "id", "created", "last used", "expires", "networks", "note", "scope"},
				Detail: []string{"created", "networks"}, Empty: "You have no API keys. Create one with 'bursar keys create --name NAME'."}
		},
		cells: func(f term.Format, k api.APIKey) []string {
			when := orNever
			if f.CSV {
				when = exactTime
			}
			return []string{k.Name, k.ID, when(k.CreatedAt), when(k.LastUsedAt), when(k.ExpiresAt), networks(k.AllowedCIDRs), keyNote(k, time.Now()), scopeText(k.Scope)}
		},
	})
}

func orNever(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return localTime(ms)
}

func networks(list []string) string {
	if len(list) == 0 {
		return "any"
	}
	return strings.Join(list, ", ")
}

// keyNote returns what needs attention about a key.
func keyNote(k api.APIKey, now time.Time) string {
	switch idle := now.Sub(time.UnixMilli(max(k.LastUsedAt, k.CreatedAt))); {
	case k.ExpiresAt != 0 && k.ExpiresAt <= now.UnixMilli():
		return "expired"
	case idle >= staleAfter:
		return fmt.Sprintf("unused for %d days", int(idle.Hours()/24))
	}
	return ""
}

func newOwnKeysCreate(r *remote) *cobra.Command {
	var f term.Format
	var name, lifetime string
	var allow []string
	var scope scopeFlags
	c := &cobra.Command{
		Use: "create", Short: "Create a key",
		Long: `Create a key that acts as you, and print its secret. It is shown only once,
because only its hash is stored. Standard output contains only the secret, so
that you can pipe it to where it is needed.

Limit the key to what its program needs: to permissions, to workspaces, or to
sandbox or live money. Permissions that the given ones need are added. A key
with --administer can make what outlives it, such as members and further
keys. What a key is good for never changes.`,
		Example: `  bursar keys create --name "Nightly reconciliation" --expires-in 90d
  bursar keys create --name reports --mode live --permission ws.payouts.read --workspace treasury
  bursar keys create --name ci --allow 192.0.2.0/24 | gh secret set BURSAR_API_KEY`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := require(c, "name"); err != nil {
				return err
			}
			if err := scope.check(); err != nil {
				return err
			}
			p := client.KeyCreateParams{Name: name, AllowedCIDRs: allow}
			if c.Flags().Changed("expires-in") {
				length, err := parseLength(lifetime)
				if err == nil && length == 0 {
					err = errors.New("must be longer than 0")
				}
				if err != nil {
					return term.Usagef("--expires-in: %w", err)
				}
				p.ExpiresAt = time.Now().Add(length)
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			if p.Scope, err = scope.request(c.Context(), s); err != nil {
				return err
			}
			made, err := s.Keys.Create(c.Context(), p)
			if err != nil {
				return fmt.Errorf("create the key: %w", err)
			}
			ends := "It does not expire."
			if made.ExpiresAt != 0 {
				ends = "It expires at " + localTime(made.ExpiresAt) + "."
			}
			fmt.Fprintf(r.terminal.Err, "Created API key %s (%s). Scope: %s. %s Store the secret now: it is not shown again.\n",
				term.Printable(made.Name), made.ID, scopeText(made.Scope), ends)
			return r.writeSecret(f, made)
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the key is for (required)")
	c.Flags().StringVar(&lifetime, "expires-in", "", "lifetime of the key, such as 90d or 2160h; without it the key does not expire")
	c.Flags().StringSliceVar(&allow, "allow", nil, "network from which the key works, such as 192.0.2.0/24; can be repeated")
	scope.bind(c)
	scope.bindWorkspaces(c, "workspace")
	_ = c.RegisterFlagCompletionFunc("workspace", r.completeWorkspaces())
	c.Flags().BoolVar(&scope.administer, "administer", false, "allow it to make what outlives it, such as members and keys")
	f.Bind(c, false)
	return c
}

func (r *remote) writeSecret(f term.Format, k *api.NewAPIKey) error {
	return f.Write(r.terminal, k, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, k.APIKey)
		return err
	})
}

func newOwnKeysRotate(r *remote) *cobra.Command {
	var f term.Format
	var grace string
	c := &cobra.Command{
		Use: "rotate KEY", Short: "Replace a key with a new one",
		Long: `Create a key with the name, networks and limits of an old one, which KEY names
by id or name, and print its secret, which is shown only once. The old key
stays valid for a grace period of a day, so that a program can switch without
an interruption; --grace 0s ends it immediately. The new key has the lifetime
of the old one.`,
		Example: `  bursar keys rotate "Nightly reconciliation"
  bursar keys rotate key_01jd2n9c1d3e5f7g9h1j3k5m7n --grace 1h`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeKeys()),
		RunE: func(c *cobra.Command, args []string) error {
			var p client.KeyRotateParams
			if c.Flags().Changed("grace") {
				length, err := parseLength(grace)
				if err != nil {
					return term.Usagef("--grace: %w", err)
				}
				p.Grace = &length
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			old, err := s.findKey(c.Context(), args[0])
			if err != nil {
				return err
			}
			made, err := s.Keys.Rotate(c.Context(), old.ID, p)
			if err != nil {
				return fmt.Errorf("rotate the key: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Created %s, which replaces %s of %s. %s Store the secret now: it is not shown again.\n", made.ID, old.ID, term.Printable(old.Name), oldEnds(made))
			return r.writeSecret(f, made)
		},
	}
	c.Flags().StringVar(&grace, "grace", "", "how long the old key stays valid, such as 1h or 7d; at most 30 days (default 24h)")
	f.Bind(c, false)
	return c
}

func oldEnds(made *api.NewAPIKey) string {
	if made.Previous == nil || made.Previous.ExpiresAt <= time.Now().UnixMilli() {
		return "The old key has expired."
	}
	return "The old key expires at " + localTime(made.Previous.ExpiresAt) + "."
}

func newOwnKeysRevoke(r *remote) *cobra.Command {
	var f term.Format
	var yes, compromised bool
	c := &cobra.Command{
		Use: "revoke KEY", Short: "Revoke a key and end its sessions",
		Long: `Revoke a key, by id or name, and end all its sessions immediately. This cannot
be undone. Invitations that were made with the key and not accepted end, too.

If someone else may have used the key, --compromised also suspends the owners,
members, roles and machine clients that were added with it, until an owner or
an admin confirms or removes them: see 'bursar orgs owners suspended' and
'bursar members suspended'.`,
		Example: `  bursar keys revoke "Nightly reconciliation"
  bursar keys revoke "Nightly reconciliation" --compromised
  bursar keys revoke key_01jd2n9c1d3e5f7g9h1j3k5m7n --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeKeys()),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			k, err := s.findKey(c.Context(), args[0])
			if err != nil {
				return err
			}
			used := "never used"
			if k.LastUsedAt != 0 {
				used = "last used " + localTime(k.LastUsedAt)
			}
			if err := r.terminal.Confirm(c.Context(), fmt.Sprintf("Revoke the key %s (%s, %s)? Anything using it will stop working immediately.", term.Printable(k.Name), k.ID, used), yes); err != nil {
				return err
			}
			if compromised {
				return r.reportKey(c.Context(), s, k, f)
			}
			revoked, err := s.Keys.Revoke(c.Context(), k.ID)
			if err != nil {
				return fmt.Errorf("revoke the key: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Revoked API key %s (%s).\n", term.Printable(k.Name), k.ID)
			return f.Write(r.terminal, revoked, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&compromised, "compromised", false, "suspend what was added with the key")
	f.Bind(c, false)
	return c
}

// reportKey revokes a compromised key, and lists the suspended access.
func (r *remote) reportKey(ctx context.Context, s *session, k api.APIKey, f term.Format) error {
	report, err := s.Keys.RevokeCompromised(ctx, k.ID)
	if err != nil {
		return fmt.Errorf("report the key as compromised: %w", err)
	}
	fmt.Fprintf(r.terminal.Err, "Revoked API key %s (%s).\n", term.Printable(k.Name), k.ID)
	if report.InvitationsEnded > 0 {
		fmt.Fprintf(r.terminal.Err, "Invitations ended: %d.\n", report.InvitationsEnded)
	}
	for _, one := range report.Suspended {
		text := "Suspended the %s %s with %s in %s.\n"
		if one.LastAdmin {
			text = "Not suspended, because the workspace has no other admin: the %s %s with %s in %s.\n"
		}
		fmt.Fprintf(r.terminal.Err, text, one.Kind, one.UserID, strings.Join(one.Roles, ", "), one.WorkspaceID)
	}
	if more := report.SuspendedCount - int64(len(report.Suspended)); more > 0 {
		fmt.Fprintf(r.terminal.Err, "And %d more.\n", more)
	}
	for _, one := range report.SuspendedOwners {
		text := "Suspended the owner %s of %s.\n"
		if one.LastOwner {
			text = "Not suspended, because the organization has no other owner: the owner %s of %s.\n"
		}
		fmt.Fprintf(r.terminal.Err, text, one.UserID, one.OrganizationID)
	}
	if len(report.Suspended) > 0 {
		fmt.Fprintln(r.terminal.Err, "Decide about members with 'bursar members suspended list'.")
	}
	if len(report.SuspendedOwners) > 0 {
		fmt.Fprintln(r.terminal.Err, "Decide about owners with 'bursar orgs owners suspended list'.")
	}
	fmt.Fprintf(r.terminal.Err, "See what was done with the key: 'bursar audit list --key %s'.\n", report.ID)
	return f.Write(r.terminal, report, nothing)
}
