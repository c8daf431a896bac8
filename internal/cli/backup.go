package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bursar/internal/backup"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

func newBackup(t Terminal) *cobra.Command {
	var store config.Store
	var keys archiveKeys
	var to string
	var plain, asJSON bool
	c := &cobra.Command{
		Use: "backup", Short: "Write all of a store into an archive", Args: cobra.NoArgs,
		Long: `Write all of a store into an archive, as it is at one moment, also while
servers use it. The archive does not depend on the database: 'bursar restore'
puts it into SQLite or PostgreSQL. What is written later is not in it:
'bursar serve --backup' copies that all the time.

The archive has everything that the database has, so it is encrypted with age:
with a passphrase in a file, or for the holders of private keys, whose public
keys --recipient names. The tool 'age-keygen' makes such keys. --plain writes
it in clear.

It does not have the vault key, without which account numbers cannot be read,
nor the key that signs the audit log: keep copies of those files elsewhere.`,
		Example: `  bursar backup --to /backup/monday.bursar --passphrase-file /etc/bursar/passphrase
  bursar backup --to monday.bursar --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p`,
		RunE: func(c *cobra.Command, _ []string) error {
			return withAdminStore(c, t, &store, []string{"to"}, func(s openedStore) error {
				k, err := keys.read()
				if err != nil {
					return err
				}
				k.Plain = plain
				if ways := count(k.Passphrase != "", len(k.Recipients) > 0, plain); ways != 1 {
					return term.Usagef("say who can read the archive: with one of --passphrase-file, --recipient and --plain")
				}
				bar := term.NewProgress(t, "rows", 0)
				m, err := backup.WriteFile(c.Context(), s.db, operator(), to, k, showRows(bar))
				bar.Close()
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(t.Out, m)
				}
				_, err = fmt.Fprintf(t.Out, "Archive     %s\n%s", term.Printable(to), manifestText(m))
				return err
			})
		},
	}
	c.AddCommand(newBackupStatus(t), newBackupVerify(t))
	store.BindStore(c.Flags())
	keys.bindPassphrase(c.Flags())
	c.Flags().StringVar(&to, "to", "", "file to write, which must not exist")
	c.Flags().StringSliceVar(&keys.recipients, "recipient", nil, "public key of age that can read the archive; can be repeated")
	c.Flags().BoolVar(&plain, "plain", false, "do not encrypt the archive, though it has secrets")
	c.Flags().BoolVar(&asJSON, "json", false, "print the manifest as JSON")
	return c
}

func newRestore(t Terminal) *cobra.Command {
	var store config.Store
	var keys archiveKeys
	var from, to, at, before string
	var check, recovered, asJSON bool
	c := &cobra.Command{
		Use: "restore", Short: "Fill an empty store with an archive or a backup", Args: cobra.NoArgs,
		Long: `Fill an empty store with an archive of 'bursar backup', on SQLite or
PostgreSQL. Nobody can use the store until all of it is there; if the command
is interrupted, run it again.

If --from is a folder or s3://bucket/prefix, it is the backup of 'bursar serve
--backup'. Its newest state is restored, or the last one that is not after
--at, or the last one before the audit entry that --before names. Every second
of the last day can be restored, every minute of the last week, every hour of
the last month and every day of the last year.

A copy does not know what happened after its moment. So all sessions end,
because some may have been ended since, and everybody signs in again. API keys
that were revoked since work again: revoke them once more. The rails are
stopped: a server looks up every payout that is not final, or has failed, and
sends nothing until 'bursar admin rails resume'.

--recovered does the same to a database that was brought back by its own
means, such as the recovery of PostgreSQL to a point in time: it needs no
archive, ends all sessions and stops the rails. Run it before any server.

--check only reads the archive, and compares its rows with its manifest.`,
		Example: `  bursar restore --from monday.bursar --passphrase-file passphrase --data ./restored
  bursar restore --from monday.bursar --identity key.txt --database-url postgres://db.internal/bursar
  bursar restore --from monday.bursar --identity key.txt --check
  bursar restore --from /mnt/backup/bursar --to ./restored --at 2026-05-31T08:00:00Z
  bursar restore --from s3://backups/bursar --to ./restored --before aud_01jd2m8k3vq7w5x9y0z1a2b3c4
  bursar restore --recovered --database-url postgres://db.internal/bursar`,
		RunE: func(c *cobra.Command, _ []string) error {
			data := c.Flags().Changed("data") // not from the environment
			if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
				return term.Usage(err)
			}
			if to != "" {
				if store.DatabaseURL != "" || data {
					return term.Usagef("use one of --to, --data and --database-url")
				}
				store.Data = to
			}
			if recovered {
				return restoreRecovered(c, t, store, from != "" || check, asJSON)
			}
			if err := require(c, "from"); err != nil {
				return err
			}
			if isBackup(from) {
				switch {
				case store.DatabaseURL != "":
					return term.Usagef("this backup is of an embedded store: restore it with --to DIR, and take it to PostgreSQL with 'bursar move'")
				case check:
					return term.Usagef("--check is for archives: 'bursar backup verify' checks this backup")
				case keys.passphraseFile != "":
					return term.Usagef("--passphrase-file is for archives: this backup is encrypted for keys, so pass --identity alone")
				}
				return restoreBackup(c, t, backupSource{from, keys.identityFile}, store.Data, at, before, asJSON)
			}
			if at != "" || before != "" {
				return term.Usagef("--at and --before are for backups of 'bursar serve --backup': an archive has one moment")
			}
			k, err := keys.read()
			if err != nil {
				return err
			}
			file, err := os.Open(from)
			if err != nil {
				return fmt.Errorf("open the archive: %w", err)
			}
			defer file.Close()
			bar := term.NewProgress(t, "rows", 0)
			var done backup.Restored
			if check {
				done.Manifest, err = backup.CheckFile(file, k, showRows(bar))
			} else {
				done, err = backup.Restore(c.Context(), operator(), file, k, placeOf(store), showRows(bar))
			}
			bar.Close()
			if errors.Is(err, backup.ErrSealed) {
				return term.Usagef("the archive is encrypted: pass --passphrase-file or --identity")
			}
			if err != nil {
				return hintStore(err)
			}
			switch {
			case asJSON && check:
				return printJSON(t.Out, done.Manifest)
			case asJSON:
				return printJSON(t.Out, done)
			case check:
				_, err = fmt.Fprintf(t.Out, "The archive is complete.\n%s", manifestText(done.Manifest))
				return err
			}
			_, err = fmt.Fprintf(t.Out, `%sStore       %s
Sessions    %d ended
Rails       stopped; %d payouts to look up

%s`, manifestText(done.Manifest), term.Printable(placeOf(store).Name), done.Sessions, done.Payouts, afterRestore(store))
			return err
		},
	}
	store.BindStore(c.Flags())
	keys.bindPassphrase(c.Flags())
	c.Flags().StringVar(&keys.identityFile, "identity", "", "file with the private key of age that the archive was encrypted for")
	c.Flags().StringVar(&from, "from", "", "archive to read, or backup of 'bursar serve --backup': a folder or s3://bucket/prefix")
	c.Flags().StringVar(&to, "to", "", "folder of the new store; another word for --data")
	c.Flags().StringVar(&at, "at", "", "moment to restore from a backup, such as 2026-05-31T08:00:00Z or 2h for two hours ago; default the newest")
	c.Flags().StringVar(&before, "before", "", "restore the moment before this audit entry, such as aud_01jd2m8k3vq7w5x9y0z1a2b3c4")
	c.Flags().BoolVar(&check, "check", false, "only check the archive")
	c.Flags().BoolVar(&recovered, "recovered", false, "the database was brought back by its own means: end sessions and stop the rails")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

// restoreRecovered records in a store that its database was restored to an earlier time.
func restoreRecovered(c *cobra.Command, t Terminal, store config.Store, more, asJSON bool) error {
	if more {
		return term.Usagef("--recovered takes no archive")
	}
	if err := store.Missing(); err != nil {
		return err
	}
	done, err := backup.Recovered(c.Context(), operator(), placeOf(store), "a backup of the database")
	if err != nil {
		return hintStore(err)
	}
	if asJSON {
		return printJSON(t.Out, map[string]int64{"sessions_ended": done.Sessions, "payouts_to_look_up": done.Payouts})
	}
	_, err = fmt.Fprintf(t.Out, "Sessions    %d ended\nRails       stopped; %d payouts to look up\n", done.Sessions, done.Payouts)
	return err
}

// archiveKeys contains the flags for who can read an archive.
type archiveKeys struct {
	passphraseFile, identityFile string
	recipients                   []string
}

func (a *archiveKeys) bindPassphrase(flags *pflag.FlagSet) {
	flags.StringVar(&a.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase of the archive")
}

func (a *archiveKeys) read() (keys backup.Keys, err error) {
	if a.passphraseFile != "" && a.identityFile != "" {
		return keys, term.Usagef("use either --passphrase-file or --identity, not both")
	}
	keys.Recipients = a.recipients
	if a.passphraseFile != "" {
		text, err := os.ReadFile(a.passphraseFile)
		if err != nil {
			return keys, fmt.Errorf("read the passphrase: %w", err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if keys.Passphrase = string(bytes.TrimSpace(line)); keys.Passphrase == "" {
			return keys, term.Usagef("the first line of the passphrase file is empty")
		}
	}
	if a.identityFile != "" {
		text, err := os.ReadFile(a.identityFile)
		if err != nil {
			return keys, fmt.Errorf("read the identity: %w", err)
		}
		keys.Identities = bytes.NewReader(text)
	}
	return keys, nil
}

func count(all ...bool) (n int) {
	for _, one := range all {
		if one {
			n++
		}
	}
	return n
}

// showRows returns a function that shows the number of rows done.
func showRows(bar *term.Progress) func(rows int64) {
	return func(rows int64) { bar.Set(int(rows), rows, 0) }
}

func manifestText(m backup.Manifest) string {
	text := fmt.Sprintf("Moment      %s\nSchema      %s\nRows        %d in %d tables\n", time.UnixMilli(m.At).UTC().Format(time.DateTime+" UTC"), m.Schema, m.Rows(), len(m.Tables))
	if m.Checkpoint != nil {
		text += fmt.Sprintf("Checkpoint  %d leaves, %x\n", m.Checkpoint.Size, m.Checkpoint.Root)
	}
	return text
}
