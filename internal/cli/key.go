package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

// staleAfter is how long a key may lie unused before it is pointed out.
const staleAfter = 45 * 24 * time.Hour

func newKeys(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use:     "keys",
		Aliases: []string{"key"},
		Short:   "Make, rotate and revoke your API keys",
		Long: `An API key lets a program act as you. Its secret is shown once, when it is made.
Give each program a key of its own, so that one can be revoked without the others.`,
		Example: `  bursar keys list
  bursar keys create --name "Nightly reconciliation" --expires-in 90d
  bursar keys rotate "Nightly reconciliation" --grace 1h`,
	}, newOwnKeysList(r), newOwnKeysCreate(r), newOwnKeysRotate(r), newOwnKeysRevoke(r))
}

func newOwnKeysList(r *remote) *cobra.Command {
	var f term.Format
	var rows span
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your keys",
		Long: `List your keys, without their secrets. Those that have expired are listed and
marked, and so are those that were not used for 45 days: revoke what nobody needs.`,
		Example: `  bursar keys list
  bursar keys list --jq '.[] | select(.expires_at == null).name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := rows.check(); err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			list, err := take(r.terminal, rows, s.Keys.All(c.Context(), client.ListParams{Limit: rows.page()}))
			if err != nil {
				return fmt.Errorf("list the keys: %w", err)
			}
			shown := &term.Table{Columns: []string{"name", "id", "created", "last used", "expires", "networks", "note"}, Empty: "You have no keys: make one with 'bursar keys create --name NAME'."}
			when := orNever
			if f.CSV {
				when = exactTime
			}
			for _, k := range list {
				shown.Add(k.Name, k.ID, when(k.CreatedAt), when(k.LastUsedAt), when(k.ExpiresAt), networks(k.AllowedCIDRs), keyNote(k, time.Now()))
			}
			return f.WriteTable(r.terminal, list, shown)
		},
	}
	rows.bind(c)
	f.Bind(c, true)
	return c
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

// keyNote is what deserves attention about a key.
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
	c := &cobra.Command{
		Use: "create", Short: "Make a key",
		Long: `Make a key that acts as you, and write its secret, which is shown this once: only
its hash is kept. Standard output gets the secret alone, so that it can go straight
to where it is needed.`,
		Example: `  bursar keys create --name "Nightly reconciliation" --expires-in 90d
  bursar keys create --name ci --allow 192.0.2.0/24 | gh secret set BURSAR_API_KEY`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := require(c, "name"); err != nil {
				return err
			}
			p := client.KeyCreateParams{Name: name, AllowedCIDRs: allow}
			if c.Flags().Changed("expires-in") {
				length, err := parseLength(lifetime)
				if err == nil && length == 0 {
					err = errors.New("must be longer than nothing")
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
			made, err := s.Keys.Create(c.Context(), p)
			if err != nil {
				return fmt.Errorf("make the key: %w", err)
			}
			ends := "It lives until it is revoked."
			if made.ExpiresAt != 0 {
				ends = "It ends at " + localTime(made.ExpiresAt) + "."
			}
			fmt.Fprintf(r.terminal.Err, "Made the key %s (%s). %s Keep the secret now: it is not shown again.\n", term.Printable(made.Name), made.ID, ends)
			return r.writeSecret(f, made)
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the key is for (required)")
	c.Flags().StringVar(&lifetime, "expires-in", "", "how long the key lives, such as 90d or 2160h; without it until it is revoked")
	c.Flags().StringSliceVar(&allow, "allow", nil, "network that the key works from, such as 192.0.2.0/24; can be repeated")
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
		Use: "rotate KEY", Short: "Replace a key by a new one",
		Long: `Make a new key with the name and the networks of an old one, named by id or name,
and write its secret, which is shown this once. The old key lives on for the grace
period, a day unless told, so that a program can change over without a pause;
--grace 0s ends it now. A key that expires is followed by one with the same
lifetime.`,
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
			fmt.Fprintf(r.terminal.Err, "Made %s, which replaces %s of %s. %s Keep the secret now: it is not shown again.\n", made.ID, old.ID, term.Printable(old.Name), oldEnds(made))
			return r.writeSecret(f, made)
		},
	}
	c.Flags().StringVar(&grace, "grace", "", "how long the old key lives on, such as 1h or 7d; 30 days at most (default 24h)")
	f.Bind(c, false)
	return c
}

func oldEnds(made *api.NewAPIKey) string {
	if made.Previous == nil || made.Previous.ExpiresAt <= time.Now().UnixMilli() {
		return "The old key has ended."
	}
	return "The old key ends at " + localTime(made.Previous.ExpiresAt) + "."
}

func newOwnKeysRevoke(r *remote) *cobra.Command {
	var f term.Format
	var yes bool
	c := &cobra.Command{
		Use: "revoke KEY", Short: "End a key and the sessions that it made",
		Long: `End a key, named by id or name, and every session that it made, at once. There is
no way back.`,
		Example: `  bursar keys revoke "Nightly reconciliation"
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
			if err := r.terminal.Confirm(fmt.Sprintf("Revoke the key %s (%s, last used %s)? Whatever uses it stops working.", term.Printable(k.Name), k.ID, orNever(k.LastUsedAt)), yes); err != nil {
				return err
			}
			revoked, err := s.Keys.Revoke(c.Context(), k.ID)
			if err != nil {
				return fmt.Errorf("revoke the key: %w", err)
			}
			fmt.Fprintf(r.terminal.Err, "Revoked the key %s (%s).\n", term.Printable(k.Name), k.ID)
			return f.Write(r.terminal, revoked, nothing)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.Bind(c, false)
	return c
}
