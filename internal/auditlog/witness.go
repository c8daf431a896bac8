package auditlog

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
	"bursar/internal/work"
)

const (
	witnessTimeout = 10 * time.Second
	witnessRetry   = 30 * time.Second
	maxWitnessBody = 64 << 10
)

// witness is a third party's server that signs a checkpoint only if it continues the last
// one that it signed (C2SP tlog-witness). Its signature shows that the log was not
// presented differently to others.
type witness struct {
	url      string
	verifier note.Verifier
	client   *http.Client
	grown    work.Signal

	origin string // of the log to which size belongs
	size   int64  // of the last checkpoint that the witness signed

	mu     sync.Mutex
	signed tree.Checkpoint
	line   string // the witness's signature of it
}

// newWitness parses the public key and the address of a witness, separated by a space.
func newWitness(text string) (*witness, error) {
	key, address, _ := strings.Cut(strings.TrimSpace(text), " ")
	verifier, err := cosign.NewVerifierForCosignatureV1(key)
	u, wrong := url.Parse(strings.TrimSpace(address))
	if err != nil || wrong != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf(`--audit-witness must be the public key of a witness, a space and its address, such as "witness.example.com+1a2b3c4d+BA… https://witness.example.com", not %q`, text)
	}
	return &witness{
		url: strings.TrimRight(u.String(), "/") + "/add-checkpoint", verifier: verifier,
		client: &http.Client{Timeout: witnessTimeout}, grown: make(work.Signal, 1),
	}, nil
}

// run submits checkpoints until the context ends. If the witness does not answer, it
// retries later and logs that once.
func (w *witness) run(ctx context.Context, s *Signer) {
	for failing := false; ; {
		var retry <-chan time.Time
		grown := w.grown
		err := w.submit(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.health.fail("witness")
			retry, grown = time.After(witnessRetry), nil
			if !failing {
				s.log.Warn("a witness did not sign the checkpoint of the audit log, which will be retried", "witness", w.verifier.Name(), "error", err.Error())
			}
		case failing:
			s.log.Info("the witness signs the checkpoints of the audit log again", "witness", w.verifier.Name())
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-grown:
		}
	}
}

// submit sends the newest checkpoint to the witness for its signature.
func (w *witness) submit(ctx context.Context, s *Signer) error {
	newest, err := s.Newest(ctx)
	if err != nil || w.signature(newest.Checkpoint) != "" {
		return nil // Publish reports the error
	}
	if w.origin != newest.Origin {
		w.origin, w.size = newest.Origin, 0
	}
	status, answer, err := w.add(ctx, s, newest)
	if err == nil && status == http.StatusConflict {
		// The witness has signed a size that is unknown here, for example one that another node sent.
		if w.size, err = strconv.ParseInt(strings.TrimSpace(string(answer)), 10, 64); err != nil {
			return fmt.Errorf("the witness answers 409 without a size: %w", err)
		}
		if w.size > newest.Size {
			return nil // another node has submitted a newer one
		}
		status, answer, err = w.add(ctx, s, newest)
	}
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("the witness answers %d: %s", status, bytes.TrimSpace(answer[:min(len(answer), 200)]))
	}
	return w.keep(newest, answer)
}

// add sends the request add-checkpoint: the size that the witness knows, the proof that the
// checkpoint continues it, and the checkpoint.
func (w *witness) add(ctx context.Context, s *Signer, newest Signed) (status int, answer []byte, err error) {
	body := fmt.Appendf(nil, "old %d\n", w.size)
	if w.size > 0 && w.size < newest.Size {
		var proof tlog.TreeProof
		err := s.db.Read(ctx, func(q db.Q) (err error) {
			if err = q.Snapshot(); err != nil {
				return err
			}
			state, err := readTree(q)
			if err != nil || state.origin != newest.Origin {
				return errors.Join(err, errors.New("the log was restarted meanwhile"))
			}
			proof, err = tlog.ProveTree(newest.Size, w.size, NewTiles(q))
			return err
		})
		if err != nil {
			return 0, nil, err
		}
		for _, hash := range proof {
			body = append(base64.StdEncoding.AppendEncode(body, hash[:]), '\n')
		}
	}
	body = append(append(body, '\n'), newest.Text...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // the relevant part was read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxWitnessBody))
	return response.StatusCode, answer, err
}

// keep checks the signature in the answer of the witness and stores it.
func (w *witness) keep(newest Signed, answer []byte) error {
	text := append(newest.Text[:len(newest.Text):len(newest.Text)], answer...)
	signed, err := note.Open(text, note.VerifierList(w.verifier))
	if err != nil {
		return fmt.Errorf("the witness answers without a signature of %s that fits the checkpoint: %w", w.verifier.Name(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.size, w.signed = newest.Size, newest.Checkpoint
	w.line = "— " + signed.Sigs[0].Name + " " + signed.Sigs[0].Base64 + "\n"
	return nil
}

// signature returns the line with the witness's signature of a checkpoint, or "".
func (w *witness) signature(point tree.Checkpoint) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.signed != point {
		return ""
	}
	return w.line
}
