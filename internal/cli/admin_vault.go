package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
	"bursar/internal/payout"
	"bursar/internal/vault"
)

func newVaultStatus(t Terminal) *cobra.Command {
	return adminCommand{
		use: "status", short: "Show the keys of the vault and what they seal",
		long: `Show the fingerprint of the vault key, whether it is here, how many data keys
there are, and how much each table has sealed. It needs no key.`,
		example: `  bursar admin vault status
  bursar admin vault status --vault-key /etc/bursar/vault.key --database-url postgres://db.internal/bursar`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			status, err := s.vault.Status(c.Context())
			return status, vaultStatus(status), err
		},
	}.command(t)
}

func vaultStatus(s vault.Status) string {
	var out strings.Builder
	if s.Version > 0 {
		fmt.Fprintf(&out, "Vault key    %s, version %d, since %s\n", s.Fingerprint, s.Version, time.UnixMilli(s.CreatedAt).UTC().Format(time.DateTime+" UTC"))
	}
	if s.Problem != "" {
		fmt.Fprintf(&out, "Problem      %s\n", s.Problem)
	}
	fmt.Fprintf(&out, "Data keys    %d, of which %d are retired\n", s.Keys, s.Retired)
	for _, table := range slices.Sorted(maps.Keys(s.Sealed)) {
		fmt.Fprintf(&out, "Sealed       %d in %s\n", s.Sealed[table], table)
	}
	for _, left := range []struct {
		count int64
		text  string
	}{
		{s.OldMaster, "data keys are wrapped by an earlier vault key: run 'bursar admin vault rotate' to go on"},
		{s.Waiting, "values are sealed with a retired data key: run 'bursar admin vault reseal' to go on"},
	} {
		if left.count > 0 {
			fmt.Fprintf(&out, "Left         %d %s\n", left.count, left.text)
		}
	}
	if s.Resealing {
		fmt.Fprintln(&out, "Left         a reseal runs or was interrupted: run 'bursar admin vault reseal' to go on")
	}
	return strings.TrimRight(out.String(), "\n")
}

func newVaultInit(t Terminal) *cobra.Command {
	var lost, yes bool
	c := adminCommand{
		use: "init", short: "Make the vault key of a store",
		long: `Make the vault key of a store that has none, in the file --vault-key or with
the program --vault-command. The store keeps the key's fingerprint, and a
server with another key does not start. On SQLite the first start does this by
itself. If the file is there already, its key is used.

--lost begins with a new key because the old one is lost for good. What the
old key sealed stays unreadable: account numbers are shown as lost and have to
be entered again, authenticator apps have to be set up again (recovery codes
work), and everybody logs in again. Everything else is there: payees, names,
tags, roles, API keys, passwords, passkeys and the audit log.`,
		example: `  bursar admin vault init --vault-key /etc/bursar/vault.key --database-url postgres://db.internal/bursar
  bursar admin vault init --vault-command /usr/local/bin/bursar-kms --database-url postgres://db.internal/bursar
  bursar admin vault init --lost --yes`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var name string
			var err error
			switch {
			case lost && !yes:
				return nil, "", term.Usage(errors.New("--lost gives up what the old key sealed: pass --yes, too"))
			case lost:
				if name, err = s.vault.Replace(c.Context(), operator()); err == nil {
					err = payout.LoadIntegrity(c.Context(), s.db, s.vault, true)
				}
			default:
				name, err = s.vault.Init(c.Context())
			}
			return map[string]string{"fingerprint": name}, "Vault key  " + name, err
		},
	}.command(t)
	c.Flags().BoolVar(&lost, "lost", false, "begin with a new key, because the old one is lost for good")
	c.Flags().BoolVar(&yes, "yes", false, "with --lost: give up what the old key sealed")
	return c
}

func newVaultRotate(t Terminal) *cobra.Command {
	var prepare bool
	c := adminCommand{
		use: "rotate", short: "Begin with a new vault key and wrap all data keys with it",
		long: `Begin with a new version of the vault key and wrap all data keys with it,
while servers run. Values are not sealed anew, so it takes seconds. If it is
interrupted, running it again goes on.

The new key is added to the file. If several nodes have copies of the file,
run it with --prepare first, copy the file to the nodes, and then run it
without. Keep the old line for as long as you keep backups of its time.`,
		example: `  bursar admin vault rotate
  bursar admin vault rotate --prepare`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			if prepare {
				name, err := s.vault.Prepare(c.Context())
				return map[string]string{"prepared": name}, "Vault key  " + name + " is in the file and not used yet. Copy the file to every node, then run 'bursar admin vault rotate'.", err
			}
			done, err := s.vault.Rotate(c.Context(), operator())
			text := fmt.Sprintf("Vault key  %s, version %d\nData keys  %d wrapped with it", done.Fingerprint, done.Version, done.Rewrapped)
			if done.Resumed {
				text += "\nThis went on with a rotation that was interrupted."
			}
			return done, text, err
		},
	}.command(t)
	c.Flags().BoolVar(&prepare, "prepare", false, "put the new key into the file, and do not use it yet")
	return c
}

func newVaultReseal(t Terminal) *cobra.Command {
	return adminCommand{
		use: "reseal", short: "Make new data keys and seal everything anew",
		long: `Make a new data key for every workspace and seal everything anew, while
servers run. If it is interrupted, running it again goes on. The old data keys
are deleted two days later. Use it when a data key may have leaked, or once a
year.`,
		example: `  bursar admin vault reseal`,
		run: func(c *cobra.Command, s openedStore) (any, string, error) {
			var bar *term.Progress
			done, err := s.vault.Reseal(c.Context(), operator(), func(done, total int64) {
				if bar == nil {
					bar = term.NewProgress(t, "values", total)
				}
				bar.Set(int(done), done, 0)
			})
			if bar != nil {
				bar.Close()
			}
			text := fmt.Sprintf("Data keys  %d made\nValues     %d sealed anew", done.Keys, done.Values)
			if done.Lost > 0 {
				text += fmt.Sprintf("\nLost       %d values cannot be opened and stay as they are", done.Lost)
			}
			if done.Resumed {
				text += "\nThis went on with a reseal that was interrupted."
			}
			return done, text, err
		},
	}.command(t)
}
