package cli

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/access"
	"bursar/internal/audit"
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

// keys finds keys of the user by id or name.
func keys() *resource[api.APIKey] {
	return &resource[api.APIKey]{
		noun: "key", anywhere: true,
		list: func(c *call, _ string, p client.ListParams) iter.Seq2[api.APIKey, error] { return c.Keys.All(c, p) },
		item: func(k api.APIKey) item {
			return item{k.ID, []string{k.Name}, k.Name + "  " + k.ID + "  created " + localTime(k.CreatedAt), described(k.ID, k.Name)}
		},
	}
}

func newOwnKeysList(r *remote) *cobra.Command {
	return keys().newList(r, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your keys",
		Long: `List your keys without their secrets. The note points out keys that have
expired or that were not used for 45 days: revoke the ones you no longer need.
--json has the permissions and workspaces that a key is limited to.`,
		Example: `  bursar keys list
  bursar keys list --jq '.[] | select(.expires_at == null).name'`,
	}, &term.Table{Columns: []string{"name", "id", "created", "last used", "expires", "networks", "note", "scope"},
		Detail: []string{"created", "networks"},
		Empty:  "You have no API keys. Create one with 'bursar keys create --name NAME'."}, func(c *call, k api.APIKey) []string {
		return []string{k.Name, k.ID, c.timeOrNever(k.CreatedAt), c.timeOrNever(k.LastUsedAt), c.timeOrNever(k.ExpiresAt),
			networks(k.AllowedCIDRs), keyNote(k, time.Now()), scopeText(k.Scope)}
	})
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

// keyCreation are the inputs of 'keys create'.
type keyCreation struct {
	Name      string   `flag:"name" usage:"what the key is for (required)" required:"true"`
	ExpiresIn *string  `flag:"expires-in" usage:"lifetime of the key, such as 90d or 2160h; without it the key does not expire"`
	Allow     []string `flag:"allow" usage:"network from which the key works, such as 192.0.2.0/24; can be repeated"`
	Scope     keyScope
	lifetime  time.Duration
}

func (k *keyCreation) check() (err error) {
	if k.ExpiresIn == nil {
		return nil
	}
	if k.lifetime, err = parseLength(*k.ExpiresIn); err == nil && k.lifetime == 0 {
		err = errors.New("must be longer than 0")
	}
	if err != nil {
		return term.Usagef("--expires-in: %w", err)
	}
	return nil
}

// keyScope contains the flags that limit a new key.
type keyScope struct{ scopeFlags }

func (s *keyScope) bind(r *remote, c *cobra.Command) {
	s.scopeFlags.bind(c)
	s.bindWorkspaces(c, "workspace")
	completeFlag(c, "workspace", workspaces().completion(r))
	c.Flags().BoolVar(&s.administer, "administer", false, "allow it to make what outlives it, such as members and keys")
}

func newOwnKeysCreate(r *remote) *cobra.Command {
	var in keyCreation
	return newCommand(r, anywhere, &in, &cobra.Command{
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
	}, func(c *call) error {
		p := client.KeyCreateParams{Name: in.Name, AllowedCIDRs: in.Allow}
		if in.lifetime > 0 {
			p.ExpiresAt = time.Now().Add(in.lifetime)
		}
		var err error
		if p.Scope, err = in.Scope.request(c); err != nil {
			return err
		}
		made, err := c.Keys.Create(c, p)
		if err != nil {
			return fmt.Errorf("create the key: %w", err)
		}
		ends := "It does not expire."
		if made.ExpiresAt != 0 {
			ends = "It expires at " + localTime(made.ExpiresAt) + "."
		}
		c.say("Created API key %s (%s). Scope: %s. %s Store the secret now: it is not shown again.", made.Name, made.ID,
			scopeText(made.Scope), ends)
		return c.writeLine(made, made.APIKey)
	})
}

// keyRotation are the inputs of 'keys rotate'.
type keyRotation struct {
	Key   api.APIKey
	Grace *string `flag:"grace" usage:"how long the old key stays valid, such as 1h or 7d; at most 30 days (default 24h)"`
	grace *time.Duration
}

func (k *keyRotation) check() error {
	if k.Grace == nil {
		return nil
	}
	length, err := parseLength(*k.Grace)
	if err != nil {
		return term.Usagef("--grace: %w", err)
	}
	k.grace = &length
	return nil
}

func newOwnKeysRotate(r *remote) *cobra.Command {
	var in keyRotation
	return newCommand(r, anywhere, &in, &cobra.Command{
		Use: "rotate KEY", Short: "Replace a key with a new one",
		Long: `Create a key with the name, networks and limits of an old one, which KEY names
by id or name, and print its secret, which is shown only once. The old key
stays valid for a grace period of a day, so that a program can switch without
an interruption; --grace 0s ends it immediately. The new key has the lifetime
of the old one.`,
		Example: `  bursar keys rotate "Nightly reconciliation"
  bursar keys rotate key_01jd2n9c1d3e5f7g9h1j3k5m7n --grace 1h`,
	}, func(c *call) error {
		made, err := c.Keys.Rotate(c, in.Key.ID, client.KeyRotateParams{Grace: in.grace})
		if err != nil {
			return fmt.Errorf("rotate the key: %w", err)
		}
		c.say("Created %s, which replaces %s of %s. %s Store the secret now: it is not shown again.", made.ID, in.Key.ID,
			in.Key.Name, oldEnds(made))
		return c.writeLine(made, made.APIKey)
	})
}

func oldEnds(made *api.NewAPIKey) string {
	if made.Previous == nil || made.Previous.ExpiresAt <= time.Now().UnixMilli() {
		return "The old key has expired."
	}
	return "The old key expires at " + localTime(made.Previous.ExpiresAt) + "."
}

func newOwnKeysRevoke(r *remote) *cobra.Command {
	var in struct {
		Key         api.APIKey
		Compromised bool `flag:"compromised" usage:"suspend what was added with the key"`
		confirmation
	}
	return newCommand(r, anywhere, &in, &cobra.Command{
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
	}, func(c *call) error {
		k, used := in.Key, "never used"
		if k.LastUsedAt != 0 {
			used = "last used " + localTime(k.LastUsedAt)
		}
		if err := c.confirm(in.confirmation, "Revoke the key %s (%s, %s)? Anything using it will stop working immediately.", k.Name,
			k.ID, used); err != nil {
			return err
		}
		if in.Compromised {
			return reportKey(c, k)
		}
		revoked, err := c.Keys.Revoke(c, k.ID)
		if err != nil {
			return fmt.Errorf("revoke the key: %w", err)
		}
		c.say("Revoked API key %s (%s).", k.Name, k.ID)
		return c.done(revoked)
	})
}

// reportKey revokes a compromised key, and lists the suspended access.
func reportKey(c *call, k api.APIKey) error {
	report, err := c.Keys.RevokeCompromised(c, k.ID)
	if err != nil {
		return fmt.Errorf("report the key as compromised: %w", err)
	}
	c.say("Revoked API key %s (%s).", k.Name, k.ID)
	if report.InvitationsEnded > 0 {
		c.say("Invitations ended: %d.", report.InvitationsEnded)
	}
	for _, one := range report.Suspended {
		text := "Suspended the %s %s with %s in %s."
		if one.LastAdmin {
			text = "Not suspended, because the workspace has no other admin: the %s %s with %s in %s."
		}
		c.say(text, one.Kind, one.UserID, strings.Join(one.Roles, ", "), one.WorkspaceID)
	}
	if more := report.SuspendedCount - int64(len(report.Suspended)); more > 0 {
		c.say("And %d more.", more)
	}
	for _, one := range report.SuspendedOwners {
		text := "Suspended the owner %s of %s."
		if one.LastOwner {
			text = "Not suspended, because the organization has no other owner: the owner %s of %s."
		}
		c.say(text, one.UserID, one.OrganizationID)
	}
	if len(report.Suspended) > 0 {
		c.say("Decide about members with 'bursar members suspended list'.")
	}
	if len(report.SuspendedOwners) > 0 {
		c.say("Decide about owners with 'bursar orgs owners suspended list'.")
	}
	c.say("See what was done with the key: 'bursar audit list --key %s'.", report.ID)
	return c.done(report)
}

// scopeFlags contains the flags that limit a new credential.
type scopeFlags struct {
	permissions, workspaces []string
	mode                    string
	administer              bool
}

func (s *scopeFlags) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&s.permissions, "permission", nil, "permission that it is limited to; can be repeated (default all)")
	bindMode(c, &s.mode)
	_ = c.RegisterFlagCompletionFunc("permission", cobra.FixedCompletions(access.BuiltInRoles()[0].Permissions.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// bindWorkspaces adds the flag for the workspaces of the scope. what is the word for one workspace.
func (s *scopeFlags) bindWorkspaces(c *cobra.Command, what string) {
	c.Flags().StringSliceVar(&s.workspaces, "workspace", nil, what+" that it is limited to; can be repeated (default all)")
}

func bindMode(c *cobra.Command, mode *string) {
	c.Flags().StringVar(mode, "mode", audit.BothModes, "money that it is good for: sandbox, live or both")
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(modes(), cobra.ShellCompDirectiveNoFileComp))
}

func checkMode(mode string) error {
	if !slices.Contains(modes(), mode) {
		return term.Usagef("--mode: must be sandbox, live or both")
	}
	return nil
}

func modes() []string { return []string{audit.SandboxMode, audit.LiveMode, audit.BothModes} }

// check returns an error unless the flags describe a scope. It adds the permissions that the given ones need.
func (s *scopeFlags) check() error {
	if err := checkMode(s.mode); err != nil {
		return err
	}
	for _, name := range s.permissions {
		if access.SetOf(access.Permission(name)) == 0 {
			return term.Usagef("--permission: %q is not a permission", name)
		}
	}
	if len(s.permissions) > 0 {
		s.permissions, _ = access.WithNeeds(s.permissions)
	}
	return nil
}

// scope returns the scope of the flags, whose form check has checked. Workspaces are ids.
func (s *scopeFlags) scope() audit.Scope {
	out := audit.Scope{Permissions: s.permissions, WorkspaceIDs: s.workspaces, Administer: s.administer}
	if s.mode != audit.BothModes {
		out.Mode = s.mode
	}
	return out
}

// request returns the scope for a request. Workspaces may be names.
func (s *scopeFlags) request(c *call) (api.ScopeRequest, error) {
	out := api.ScopeRequest{Permissions: s.permissions, Administer: s.administer}
	if s.mode != audit.BothModes {
		out.Mode = &s.mode
	}
	for _, ref := range s.workspaces {
		w, err := workspaces().find(c, ref)
		if err != nil {
			return out, err
		}
		out.WorkspaceIDs = append(out.WorkspaceIDs, w.ID)
	}
	return out, nil
}

// scopeText returns a short description of a credential's limits.
func scopeText(s api.Scope) string {
	var parts []string
	if s.Mode != audit.BothModes {
		parts = append(parts, s.Mode)
	}
	if s.Permissions != nil {
		parts = append(parts, counted(len(s.Permissions), "permission", "permissions"))
	}
	if s.WorkspaceIDs != nil {
		parts = append(parts, counted(len(s.WorkspaceIDs), "workspace", "workspaces"))
	}
	if s.Administer {
		parts = append(parts, "administers")
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}
