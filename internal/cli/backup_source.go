package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bursar/internal/auditlog"
	"bursar/internal/backup"
	"bursar/internal/backup/continuous"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

// backupSource is a backup of 'bursar serve --backup' that a command reads.
type backupSource struct{ from, identityFile string }

func (b *backupSource) bind(flags *pflag.FlagSet) {
	flags.StringVar(&b.from, "from", "", "backup to read: a folder, or s3://bucket/prefix [BURSAR_BACKUP]")
}

func (b *backupSource) bindIdentity(flags *pflag.FlagSet) {
	flags.StringVar(&b.identityFile, "identity", "", "file with the private key of age that the backup was encrypted for")
}

func (b *backupSource) open(t Terminal) (s continuous.Source, err error) {
	if s.Target, err = openTarget(b.from, t.Env); err != nil {
		return s, term.Usagef("--from: %w", err)
	}
	keys, err := (&archiveKeys{identityFile: b.identityFile}).read()
	if err == nil && keys.Identities != nil {
		s.Identities, err = backup.Identities(keys.Identities)
	}
	return s, err
}

// openTarget opens the location of a backup. It refuses an object store address with a missing slash, which would name a folder.
func openTarget(address string, env func(string) (string, bool)) (continuous.Target, error) {
	if rest, found := strings.CutPrefix(address, "s3:"); found && !strings.HasPrefix(rest, "//") {
		return nil, errors.New("an object store is s3://bucket/prefix, with two slashes; write ./ before the name of a folder")
	}
	return continuous.Open(address, env)
}

// isBackup reports whether --from names a backup of 'bursar serve --backup', and not an archive.
func isBackup(from string) bool {
	info, err := os.Stat(from)
	return strings.HasPrefix(from, "s3:") || err == nil && info.IsDir()
}

func newBackupStatus(t Terminal) *cobra.Command {
	var source backupSource
	var asJSON bool
	var maxAge time.Duration
	c := &cobra.Command{
		Use: "status", Short: "Show what a continuous backup has", Args: cobra.NoArgs,
		Long: `Show what the backup of 'bursar serve --backup' has, and up to when it is
complete, which the server says every minute. It only lists the objects;
'bursar backup verify' restores them.

It exits with 1 if there is nothing to restore, if a segment is missing, if
the last verification failed, or if the backup is not complete up to --max-age
before now.`,
		Example: `  bursar backup status --from /mnt/backup/bursar
  bursar backup status --from s3://backups/bursar --max-age 10m`,
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := openBackup(c, t, &source)
			if err != nil {
				return err
			}
			o, err := continuous.Look(c.Context(), from.Target)
			if err != nil {
				return hintBackup(err)
			}
			if asJSON {
				err = printJSON(t.Out, o)
			} else {
				_, err = fmt.Fprint(t.Out, overviewText(o))
			}
			switch {
			case err != nil:
				return err
			case o.Bases == 0:
				return fmt.Errorf("%s has no base yet, so nothing can be restored", o.Target)
			case o.Missing != "":
				return fmt.Errorf("the newest state cannot be restored: %s", o.Missing)
			case o.Verified != nil && o.Verified.Error != "":
				return fmt.Errorf("the last verification failed: %s", term.Printable(o.Verified.Error))
			case maxAge > 0 && time.Since(o.Safe) > maxAge:
				return fmt.Errorf("the backup is older than %s", maxAge)
			}
			return nil
		},
	}
	source.bind(c.Flags())
	c.Flags().DurationVar(&maxAge, "max-age", 10*time.Minute, "how long ago the backup may have been complete last; 0 for any time")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

func openBackup(c *cobra.Command, t Terminal, source *backupSource) (continuous.Source, error) {
	if err := config.FromEnvironment(c.Flags(), t.Env); err != nil {
		return continuous.Source{}, term.Usage(err)
	}
	if source.from == "" {
		source.from, _ = t.Env("BURSAR_BACKUP") // the server's flag for it is --backup
	}
	if source.from == "" {
		return continuous.Source{}, term.Usagef("--from is required")
	}
	return source.open(t)
}

func overviewText(o continuous.Overview) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.UTC().Format(time.DateTime + " UTC")
	}
	text := fmt.Sprintf("Backup          %s\nBases           %d, the oldest of %s, the newest of %s\nSegments        %d\nSize            %s\nNewest segment  %s\nComplete until  %s\n",
		term.Printable(o.Target), o.Bases, at(o.First), at(o.Base), o.Segments, megabytes(o.Bytes), at(o.Last), at(o.Safe))
	switch v := o.Verified; {
	case v == nil:
		text += "Verified        never\n"
	case v.Error != "":
		text += fmt.Sprintf("Verified        %s, and failed: %s\n", at(v.At), term.Printable(v.Error))
	default:
		text += fmt.Sprintf("Verified        %s, up to %s\n", at(v.At), at(v.Moment))
	}
	return text
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// hintBackup adds a hint to the error of an unreadable backup.
func hintBackup(err error) error {
	var network *net.OpError
	switch {
	case errors.Is(err, continuous.ErrSealed):
		return term.Usagef("the backup is encrypted: pass --identity")
	case errors.As(err, &network):
		return withHint(err, "Is the object store running, and is its address right? AWS_ENDPOINT_URL names one that is not Amazon's.")
	}
	return hintStore(err)
}

// restoreBackup restores from a backup of 'bursar serve --backup'.
func restoreBackup(c *cobra.Command, t Terminal, source backupSource, dir, at, before string, asJSON bool) error {
	from, err := source.open(t)
	if err != nil {
		return err
	}
	var moment continuous.Moment
	switch {
	case at != "" && before != "":
		return term.Usagef("use either --at or --before, not both")
	case at != "":
		if moment.At, err = parseMoment(at, time.Now(), true); err != nil {
			return term.Usagef("--at: %w", err)
		}
	case before != "":
		moment.Before = before
	}
	bar := term.NewProgress(t, "bytes", 0)
	done, err := continuous.Restore(c.Context(), operator(), from, dir, moment, showRows(bar))
	bar.Close()
	if err != nil {
		return hintBackup(err)
	}
	if len(done.Damaged) > 0 {
		fmt.Fprintf(t.Err, "Other objects of the backup made up for these, which are damaged: %s\n", strings.Join(done.Damaged, ", "))
	}
	if asJSON {
		return printJSON(t.Out, map[string]any{"moment": done.Moment.UTC(), "segments": done.Segments, "bytes": done.Bytes, "damaged": append([]string{}, done.Damaged...),
			"sessions_ended": done.Sessions, "payouts_to_look_up": done.Payouts})
	}
	_, err = fmt.Fprintf(t.Out, `Moment      %s
Segments    %d, %s
Store       %s
Sessions    %d ended
Rails       stopped; %d payouts to look up

%s`, done.Moment.UTC().Format(time.DateTime+" UTC"), done.Segments, megabytes(done.Bytes), term.Printable(dir), done.Sessions, done.Payouts, afterRestore(config.Store{Data: dir}))
	return err
}

// afterRestore returns the operator's next steps. docs/operating.md has the same steps with reasons.
func afterRestore(s config.Store) string {
	at, keys := "--data "+term.Printable(s.Data), "Put vault.key, audit.key and audit.checkpoint into that folder."
	start := `Start the server. This counts as another store, whose --backup needs an
   empty place.`
	if s.DatabaseURL != "" {
		at, keys, start = "--database-url …", "Give the servers the same vault key, audit key and audit.checkpoint as before.", "Start the servers."
	}
	return fmt.Sprintf(`What comes next, as docs/operating.md tells under 'Restore at night':

1. bursar admin ledger verify %[1]s
2. %[2]s
3. %[3]s
4. bursar audit restart %[1]s
   It says so if the audit log has lost nothing.
5. bursar admin rails resume %[1]s
   Until then payouts are looked up, and none is sent.
`, at, keys, start)
}

func newBackupVerify(t Terminal) *cobra.Command {
	var source backupSource
	var audit config.Audit
	var scratch string
	var asJSON bool
	c := &cobra.Command{
		Use: "verify", Short: "Restore a continuous backup and check everything", Args: cobra.NoArgs,
		Long: `Read every object of the backup of 'bursar serve --backup' and compare its
checksums. Then restore the newest state into a folder of its own, which is
deleted afterwards, and check it: the database for damage, references between
rows, the whole ledger, and the whole audit log with the key that signs it.

The result stays in the backup as verified.json. Servers show it in their
metrics, and their console warns owners if it failed. The command exits with
1 if anything is wrong with the newest state. Damaged objects that only a
restore of an earlier moment would read are listed, and exit with 0. Run it
every night, on another machine than the server's if you can.`,
		Example: `  bursar backup verify --from /mnt/backup/bursar --audit-key audit.key
  bursar backup verify --from s3://backups/bursar --identity key.txt --audit-key audit.key`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			from, err := openBackup(c, t, &source)
			if err != nil {
				return err
			}
			if audit.Key == "" {
				return term.Usagef("--audit-key is required: it verifies the audit log")
			}
			key, err := auditlog.ReadKey(audit.Key)
			if err != nil {
				return err
			}
			folder, err := os.MkdirTemp(scratch, "bursar-verify-*")
			if err != nil {
				return fmt.Errorf("make a folder to restore into: %w", err)
			}
			defer os.RemoveAll(folder)
			bar := term.NewProgress(t, "bytes", 0)
			report, err := continuous.Verify(c.Context(), from, key, filepath.Join(folder, "store"), showRows(bar))
			bar.Close()
			if err != nil {
				for _, name := range report.Damaged {
					fmt.Fprintf(t.Err, "Damaged: %s\n", name)
				}
				return hintBackup(err)
			}
			if asJSON {
				return printJSON(t.Out, report)
			}
			verdict := "The backup is good.\n"
			if bad := slices.Concat(report.Damaged, report.Unreadable); len(bad) > 0 {
				verdict = "The newest state is good. Earlier moments may need these objects, which are damaged or cannot be read:\n  " + strings.Join(bad, "\n  ") + "\n"
			}
			_, err = fmt.Fprintf(t.Out, "%sMoment        %s\nSegments      %d, %s\nObjects       %d read\nAudit log     %d rows\nLedger        %d transactions\nTook          %s\n",
				verdict, report.Moment.Format(time.DateTime+" UTC"), report.Segments, megabytes(report.Bytes), report.Objects, report.AuditRows, report.Transactions,
				(time.Duration(report.Seconds * float64(time.Second))).Round(time.Millisecond))
			return err
		},
	}
	source.bind(c.Flags())
	source.bindIdentity(c.Flags())
	c.Flags().StringVar(&audit.Key, "audit-key", "", "file with the key that signs the audit log [BURSAR_AUDIT_KEY]")
	c.Flags().StringVar(&scratch, "scratch", "", "folder with room for the whole store; default that of temporary files")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
