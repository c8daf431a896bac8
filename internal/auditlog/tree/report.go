package tree

import (
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"bursar/api"
)

// Kind is the kind of change to a log that a failure shows.
type Kind string

const (
	Edited   Kind = "edited"
	Removed  Kind = "removed"
	Inserted Kind = "inserted"
	Moved    Kind = "moved"
	CutOff   Kind = "cut off"
	Swapped  Kind = "swapped between tenants"
	Forked   Kind = "forked"
)

// Failure is something that does not verify.
type Failure struct {
	Kind    Kind
	Seq, To int64  // the place of the row, or of the first and the last row; 0 if there is none
	ID      string // "" if unknown
	Stream  string // "" if there is only one
	Why     string
}

func (f Failure) String() string {
	var row strings.Builder
	switch {
	case f.To > f.Seq:
		fmt.Fprintf(&row, "rows %d to %d", f.Seq, f.To)
	case f.Seq > 0:
		fmt.Fprintf(&row, "row %d", f.Seq)
		if f.ID != "" {
			fmt.Fprintf(&row, " (%s)", f.ID)
		}
	case f.ID != "":
		row.WriteString("row " + f.ID)
	}
	if f.Stream != "" {
		if row.Len() > 0 {
			row.WriteString(" of ")
		}
		row.WriteString(f.Stream)
	}
	if row.Len() > 0 {
		row.WriteString(": ")
	}
	return string(f.Kind) + ": " + row.String() + f.Why
}

// Report is the result of a verification.
type Report struct {
	Checkpoint Checkpoint
	Former     *Checkpoint // the last checkpoint of the log before this one, if it was restarted
	Stream     Stream
	Rows       int64 // how many rows verify
	Erased     int64 // how many of them have been erased
	Failures   []Failure
	Stopped    bool // whether the verification stopped after too many failures
}

func (r *Report) fail(f Failure) { r.Failures = append(r.Failures, f) }

// Trust is what a verifier knows from sources other than the file.
type Trust struct {
	Key   string // the public key of the log
	Since []byte // a checkpoint that the verifier has kept, or nothing
}

// since compares a checkpoint with the one that the verifier has kept.
func (t Trust) since(r *Report, proof *api.AuditConsistency, restart string) error {
	if len(t.Since) == 0 {
		return nil
	}
	kept, err := ReadCheckpoint(t.Since, t.Key)
	if err != nil {
		return fmt.Errorf("the checkpoint that was kept: %w", err)
	}
	now := r.Checkpoint
	if kept.Origin != now.Origin {
		return t.restarted(r, kept, restart)
	}
	if kept.Size >= now.Size {
		if f := Compare(kept, now); f != nil {
			r.fail(*f)
		}
		return nil
	}
	if proof == nil || proof.Size != kept.Size {
		return fmt.Errorf("nothing here shows what became of the checkpoint with %d leaves: export it with --since", kept.Size)
	}
	hashes, err := hashesOf(proof.Hashes)
	if err != nil {
		return err
	}
	if tlog.CheckTree(hashes, now.Size, now.Root, kept.Size, kept.Root) != nil {
		r.fail(Failure{Kind: Forked, Why: fmt.Sprintf("the log with %d leaves does not begin with the one of %d leaves whose checkpoint was kept", now.Size, kept.Size)})
	}
	return nil
}

// Compare compares a checkpoint with a kept one that is as large or larger. It returns
// the failure, or nil.
func Compare(kept, now Checkpoint) *Failure {
	switch {
	case now.Size < kept.Size:
		return &Failure{Kind: CutOff, Why: fmt.Sprintf("the checkpoint has %d leaves, and one that was kept has %d: it is an old one, or the log was cut off", now.Size, kept.Size)}
	case now.Root != kept.Root:
		return &Failure{Kind: Forked, Why: fmt.Sprintf("two different logs of %d leaves were signed", now.Size)}
	}
	return nil
}

// restarted compares the checkpoint of a log that was given up with the first leaf of the
// log after it.
func (t Trust) restarted(r *Report, kept Checkpoint, restart string) error {
	given, err := ReadCheckpoint([]byte(restart), t.Key)
	if restart == "" || err != nil || given.Origin != kept.Origin {
		return fmt.Errorf("the checkpoint that was kept is one of the log %s, and this is the log %s: keep a checkpoint of this one", kept.Origin, r.Checkpoint.Origin)
	}
	if given.Size < kept.Size {
		r.fail(Failure{Kind: CutOff, Why: fmt.Sprintf("the log %s was restarted from a checkpoint with %d leaves, and one that was kept has %d", kept.Origin, given.Size, kept.Size)})
		return nil
	}
	if given.Size == kept.Size {
		if f := Compare(kept, given); f != nil {
			r.fail(*f)
		}
		return nil
	}
	return fmt.Errorf("the log %s was restarted after the checkpoint that was kept, from one with %d leaves: nothing can show what lay between them", kept.Origin, given.Size)
}

func hashesOf(raw [][]byte) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(raw))
	for i, hash := range raw {
		if len(hash) != tlog.HashSize {
			return nil, fmt.Errorf("a hash has %d bytes and not %d", len(hash), tlog.HashSize)
		}
		hashes[i] = tlog.Hash(hash)
	}
	return hashes, nil
}
