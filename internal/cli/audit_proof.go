package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/auditlog/tree"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

func newAuditProve(r *remote) *cobra.Command {
	var in struct {
		ID           string
		Out          string            `flag:"out" usage:"file to write instead of standard output" files:"true"`
		Since        string            `flag:"since" usage:"file with an older checkpoint that the proof leads on from" files:"true"`
		Organization *api.Organization `flag:"organization" usage:"an entry of this organization that belongs to no workspace"`
	}
	c := newTask(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "prove ID", Short: "Write the proof of one entry",
		Long: `Write what proves to somebody who has only the public key of the log that an
entry is in it as it was written. 'bursar audit verify' reads it, without a
server. With --since, the proof also shows that the log goes on from a
checkpoint that you have kept.

The entry is one of the workspace, or, with --organization, one that belongs
to no workspace.`,
		Example: `  bursar audit prove aud_01jd2s6w8x0y2z4a6b8c0d2e4f --out proof.json
  bursar audit prove aud_01jd2s6w8x0y2z4a6b8c0d2e4f --since old.checkpoint > proof.json`,
	}, func(c *call) error {
		since, err := sizeOf(in.Since)
		if err != nil {
			return err
		}
		p, err := logOf(c, in.Organization)
		if err != nil {
			return err
		}
		proof, err := c.Audit.Proof(c, p, in.ID, since)
		if err != nil {
			return fmt.Errorf("prove the entry: %w", err)
		}
		if in.Out == "" {
			return printJSON(r.terminal.Out, proof)
		}
		return writeWhole(in.Out, func(w io.Writer) error { return printJSON(w, proof) })
	})
	c.MarkFlagsMutuallyExclusive("organization", "workspace")
	return c
}

// sizeOf returns the size that the checkpoint in a file claims, or 0 if there is no file. The verification checks the claim.
func sizeOf(file string) (int64, error) {
	if file == "" {
		return 0, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("--since: %w", err)
	}
	var size int64
	if lines := strings.SplitN(string(text), "\n", 3); len(lines) == 3 {
		size, err = strconv.ParseInt(lines[1], 10, 64)
	}
	if err != nil || size < 1 {
		return 0, term.Usagef("--since: %s is no checkpoint, whose second line is a number", file)
	}
	return size, nil
}

// exportProof writes the whole log with its proof.
func (q *auditQuery) exportProof(c *cobra.Command, r *remote, file string) error {
	if q.actor+q.action+q.resourceType+q.resource+q.outcome+q.until != "" || c.Flags().Changed("format") || c.Flags().Changed("raw") {
		return term.Usagef("--proof writes the whole log: leave the filters and the format away")
	}
	since, err := sizeOf(q.since)
	if err != nil {
		return err
	}
	a, err := (&auditQuery{organization: q.organization}).source(c.Context(), r)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return a.Audit.ProofFile(c.Context(), a.p, since, w) }
	if file == "-" {
		err = write(r.terminal.Out)
	} else {
		err = writeWhole(file, write)
	}
	if err != nil {
		return fmt.Errorf("export the audit log: %w", err)
	}
	if file != "-" {
		fmt.Fprintf(r.terminal.Err, "Exported the log with its proof to %s.\n", file)
	}
	return nil
}

// errUnverified ends a failed verification, after its findings were printed.
var errUnverified = errors.New("the audit log does not verify")

func newAuditVerify(t Terminal) *cobra.Command {
	var key, since string
	var inStore bool
	var store config.Store
	var settings config.Audit
	c := &cobra.Command{
		Use: "verify FILE", Short: "Check a proof, a proof file, or a whole store",
		Long: `Check a proof of one entry ('bursar audit prove') or the proof file of a whole
log ('bursar audit export --proof'). Nothing else is needed: no server, no
database, no login. --key is the public key of the log, or a file that has it;
get it from somebody you trust, not with the file. --since is a checkpoint
that you have kept: then the log must go on from it.

With --store, the command opens the store as 'bursar admin' does and computes
everything anew: every entry, every place, the tree, its counts, and the
columns by which entries are found. It needs the key that signs the log, and
holds the store against the checkpoint that the server keeps beside it.

Every failure is a line that names the entry and what was done: edited,
removed, inserted, moved, cut off, swapped between tenants, or forked. The
exit code is 0 if there is none, otherwise 1.`,
		Example: `  bursar audit verify log.zip --key bursar-audit-1a2b3c4d+5e6f7a8b+AQ…
  bursar audit verify proof.json --key audit.pub --since old.checkpoint
  bursar audit verify --store --data /var/lib/bursar`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case inStore && (len(args) > 0 || key != "" || since != ""):
				return term.Usagef("--store checks a store: leave the file, --key and --since away")
			case inStore:
				return withAdminStore(c, t, &store, nil, func(s openedStore) error { return verifyStore(c, t, s, settings) })
			case len(args) == 0:
				return term.Usagef("name the file to verify, or pass --store")
			case key == "":
				return term.Usagef("--key is required: the public key of the log, or a file that has it")
			}
			return verifyFile(t, args[0], key, since)
		},
	}
	c.Flags().StringVar(&key, "key", "", "public key of the log, or a file that has it")
	c.Flags().StringVar(&since, "since", "", "file with an older checkpoint that the log must go on from")
	c.Flags().BoolVar(&inStore, "store", false, "check a store instead of a file")
	store.BindStore(c.Flags())
	settings.BindKey(c.Flags())
	settings.BindCheckpoint(c.Flags())
	return c
}

// verifyFile verifies a proof or a proof file. A proof file begins with the signature of a zip archive.
func verifyFile(t Terminal, name, key, since string) error {
	trust := tree.Trust{Key: key}
	if !strings.Contains(key, "+") {
		text, err := os.ReadFile(key)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		trust.Key = string(text)
	}
	if since != "" {
		text, err := os.ReadFile(since)
		if err != nil {
			return fmt.Errorf("--since: %w", err)
		}
		trust.Since = text
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var mark [1]byte
	_, _ = file.ReadAt(mark[:], 0) // an empty file has none
	var report tree.Report
	if mark[0] == '{' {
		text, tooLong := make([]byte, min(info.Size(), maxProof)), info.Size() > maxProof
		if _, err := io.ReadFull(file, text); err != nil {
			return err
		}
		if tooLong {
			return fmt.Errorf("%s is larger than any proof of one entry", name)
		}
		report, err = tree.VerifyProof(text, trust)
	} else {
		report, err = tree.VerifyFile(file, info.Size(), trust)
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", name, err)
	}
	printFailures(t, report.Failures, report.Stopped)
	summary := fmt.Sprintf("%s of %s in the checkpoint of %s with %d leaves", counted(int(report.Rows), "entry", "entries"), term.Printable(report.Stream.Name), report.Checkpoint.Origin, report.Checkpoint.Size)
	if since != "" && report.Former == nil {
		summary += ", which goes on from the checkpoint that was kept"
	}
	if report.Erased > 0 {
		summary += fmt.Sprintf("; of %d the personal part was erased", report.Erased)
	}
	return concludeVerification(t, len(report.Failures), report.Former, summary)
}

// maxProof is an upper bound for the proof of one entry.
const maxProof = 4 << 20

func verifyStore(c *cobra.Command, t Terminal, s openedStore, settings config.Audit) error {
	keyFile := s.config.AuditKey(settings.Key)
	if keyFile == "" {
		return term.Usagef("--audit-key is required with PostgreSQL")
	}
	key, err := auditlog.ReadKey(keyFile)
	if err != nil {
		return err
	}
	file := settings.Checkpoint
	if file == "" {
		file = auditlog.CheckpointFile(keyFile)
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the checkpoint that is kept outside of the store: %w", err)
	}
	report, err := auditlog.VerifyStore(c.Context(), s.db, key, kept)
	if err != nil {
		return err
	}
	printFailures(t, report.Failures, report.Stopped)
	return concludeVerification(t, len(report.Failures), report.Former, fmt.Sprintf("%s in %s, %s and a tree of %d leaves",
		counted(int(report.Rows), "entry", "entries"), counted(int(report.Streams), "log", "logs"), counted(int(report.Heads), "signed head", "signed heads"), report.Size))
}

func printFailures(t Terminal, failures []tree.Failure, stopped bool) {
	for _, f := range failures {
		fmt.Fprintln(t.Out, term.Printable(f.String()))
	}
	if stopped {
		fmt.Fprintln(t.Out, "There are more failures than are listed.")
	}
}

// concludeVerification prints the result of a verification. For a restarted log, it states that nothing shows whether the entries of the
// former log are complete and unchanged.
func concludeVerification(t Terminal, failures int, former *tree.Checkpoint, summary string) error {
	if former != nil {
		fmt.Fprintf(t.Out, "The log was restarted after the checkpoint of %s with %d leaves. Nothing here shows that it has all that was in that log, or has it unchanged.\n", former.Origin, former.Size)
	}
	if failures > 0 {
		return fmt.Errorf("%w: %s", errUnverified, counted(failures, "failure", "failures"))
	}
	_, err := fmt.Fprintf(t.Out, "Verified %s.\n", summary)
	return err
}
