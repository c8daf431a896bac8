package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is a statement signed by the operator of a log: the number and the root hash
// of its leaves.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// ReadCheckpoint reads a checkpoint that the key with this public text has signed. Others,
// such as witnesses, may have signed it as well.
func ReadCheckpoint(text []byte, verifierKey string) (Checkpoint, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(verifierKey))
	if err != nil {
		return Checkpoint{}, errors.New(`the key is no public key of an audit log, which looks like "bursar-audit-1a2b3c4d+5e6f7a8b+A…"`)
	}
	signed, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		if unsigned := (*note.UnverifiedNoteError)(nil); errors.As(err, &unsigned) {
			return Checkpoint{}, fmt.Errorf("the checkpoint is not signed by %s", verifier.Name())
		}
		if wrong := (*note.InvalidSignatureError)(nil); errors.As(err, &wrong) {
			return Checkpoint{}, fmt.Errorf("the signature of %s does not fit the checkpoint", verifier.Name())
		}
		return Checkpoint{}, errors.New("this is no checkpoint")
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) != 4 {
		return Checkpoint{}, errors.New("this is no checkpoint: it has to tell origin, size and root, each on a line")
	}
	point := Checkpoint{Origin: lines[0]}
	if name, generation, again := strings.Cut(lines[0], "/"); name != verifier.Name() || again && generation == "" {
		return Checkpoint{}, fmt.Errorf("the checkpoint is one of another log: %q is not %s", lines[0], verifier.Name())
	}
	point.Size, err = strconv.ParseInt(lines[1], 10, 64)
	if err != nil || point.Size < 0 || strconv.FormatInt(point.Size, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("the checkpoint has no size: %q", lines[1])
	}
	if point.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return Checkpoint{}, fmt.Errorf("the checkpoint has no root: %q", lines[2])
	}
	return point, nil
}
