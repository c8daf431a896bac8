package db

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/db/engine"
	"bursar/internal/fault"
)

// idempotencyLifetime is how long a stored answer can be replayed.
const idempotencyLifetime = 24 * time.Hour

// IdempotencyKey makes a mutation happen at most once: the answer is stored with the
// mutation, and a repeated request gets the stored answer. Answers may contain secrets,
// so each is encrypted. The encryption key is derived from the caller's idempotency key,
// which is not stored, and from a secret of the vault, since some callers' keys can be
// guessed. The fingerprint of the request is encrypted too. Otherwise one could guess
// account numbers and compare their fingerprints.
type IdempotencyKey struct {
	digest      string // of the caller and the key
	id          string // of the record: the first half of the digest
	fingerprint string // of the request
	secrets     AnswerSecrets
	secret      int64       // the id of the secret that seals now, 0 for none
	own         []byte      // the part of the encryption key that comes from the caller's key
	seal        cipher.AEAD // of both
	encode      func(out any) (status int, body []byte, err error)
	expired     bool // Lookup found an answer that is too old to be replayed
}

// AnswerSecrets returns a secret that encrypts stored answers, and its id. Id 0 selects
// the current one.
type AnswerSecrets func(ctx context.Context, id int64) (used int64, secret []byte, err error)

// SetAnswerSecrets sets the source of the secrets. Without it, answers are encrypted with
// the caller's key alone.
func (d *DB) SetAnswerSecrets(secrets AnswerSecrets) { d.answers = secrets }

// Replay is an error that contains the answer to the first request with the same
// idempotency key.
type Replay struct {
	Status int
	Body   []byte
	full   []byte // the answer with what Body masks, nil if it masks nothing
}

func (*Replay) Error() string { return "answered before" }

// Unmask replaces a masked answer by the full one, for a caller who may see it now.
func (r *Replay) Unmask() {
	if r.full != nil {
		r.Body = r.full
	}
}

// fullAnswer separates a masked answer from the full one, in a stored answer. JSON has no such byte.
const fullAnswer = "\x00"

// WithFull returns a masked answer together with the full one, to be stored.
func WithFull(masked, full []byte) []byte { return slices.Concat(masked, []byte(fullAnswer), full) }

// NewIdempotencyKey binds a caller's key to one request. encode returns the bytes of the
// answer, which are stored: see WithFull for an answer that not every caller may see.
func (d *DB) NewIdempotencyKey(ctx context.Context, caller, key string, request []byte, encode func(out any) (int, []byte, error)) (*IdempotencyKey, error) {
	whole := hex.EncodeToString(digest("id", caller, key))
	k := &IdempotencyKey{
		digest:      whole,
		id:          whole[:storedDigits],
		fingerprint: hex.EncodeToString(digest("request", caller, request))[:storedDigits],
		secrets:     d.answers,
		own:         digest("seal", caller, key),
		encode:      encode,
	}
	var secret []byte
	var err error
	if k.secrets != nil {
		if k.secret, secret, err = k.secrets(ctx, 0); err != nil {
			return nil, err
		}
	}
	k.seal, err = answerSeal(secret, k.own)
	return k, err
}

// answerSeal returns the cipher of an answer.
func answerSeal(secret, own []byte) (cipher.AEAD, error) {
	key := own
	if secret != nil {
		hash := hmac.New(sha256.New, secret)
		hash.Write(own)
		key = hash.Sum(nil)
	}
	block, err := aes.NewCipher(key)
	if err == nil {
		var seal cipher.AEAD
		if seal, err = cipher.NewGCM(block); err == nil {
			return seal, nil
		}
	}
	return nil, fmt.Errorf("derive the key of an idempotency record: %w", err)
}

// storedDigits is how many hexadecimal digits of a digest are stored. 128 bits are enough: no
// one can find a key with the id of another caller's key. Callers who search for two requests
// with the same fingerprint only deceive themselves.
const storedDigits = 32

func digest[T ~string | ~[]byte](use, caller string, text T) []byte {
	whole := make([]byte, 0, 512)
	whole = append(whole, "bursar once "...) // part of every stored id: never change it
	whole = append(whole, use...)
	whole = append(whole, 0)
	whole = append(whole, caller...)
	whole = append(whole, 0)
	whole = append(whole, text...)
	sum := sha256.Sum256(whole)
	return sum[:]
}

// Claim reserves the key for a request on this node. Other requests with the
// same key get a conflict until the first one calls done.
func (d *DB) Claim(k *IdempotencyKey) (done func(), err error) {
	if _, taken := d.claimed.LoadOrStore(k.id, struct{}{}); taken {
		return nil, &fault.Fault{
			Code:       api.CodeIdempotencyConflict,
			Message:    "the first request with this idempotency key is still running",
			RetryAfter: time.Second,
		}
	}
	return func() { d.claimed.Delete(k.id) }, nil
}

// Lookup looks for a stored answer. It returns a *Replay if there is one, an
// IDEMPOTENCY_CONFLICT if the key was used for another request, and nil if the
// key is new.
func (k *IdempotencyKey) Lookup(q Q, now int64) error {
	var answer string
	var status, created int64
	found, err := q.Row(`SELECT status, answer, created_at FROM idempotency WHERE id = $1`, k.id).Scan(&status, &answer, &created)
	k.expired = found && created <= now-idempotencyLifetime.Milliseconds()
	if err != nil || !found || k.expired {
		return err
	}
	body, err := k.open(answer)
	if err != nil {
		return err
	}
	if len(body) < storedDigits {
		return errMalformed
	}
	if subtle.ConstantTimeCompare(body[:storedDigits], []byte(k.fingerprint)) != 1 {
		return fault.New(api.CodeIdempotencyConflict, "this idempotency key was used for a different request")
	}
	replay := &Replay{Status: int(status)}
	var masked bool
	if replay.Body, replay.full, masked = bytes.Cut(body[storedDigits:], []byte(fullAnswer)); !masked {
		replay.full = nil
	}
	return replay
}

// Answered looks for a stored answer, as Lookup does.
func (d *DB) Answered(ctx context.Context, k *IdempotencyKey) error {
	return d.confirmReplay(ctx, d.Read(ctx, func(q Q) error { return k.Lookup(q, d.Now()) }))
}

// confirmReplay returns err. If that is a stored answer, it first waits until synchronous standbys
// have it. An answer that only this server has is lost if a standby is promoted.
func (d *DB) confirmReplay(ctx context.Context, err error) error {
	var replay *Replay
	if d.dialect.awaitStandby == "" || !errors.As(err, &replay) {
		return err
	}
	if failed := d.engine.Write(ctx, func(c engine.Conn) error { return c.Exec(d.dialect.awaitStandby, nil) }); failed != nil {
		return unresolved(failed)
	}
	return err
}

// open decrypts an answer. The id of its secret precedes it.
func (k *IdempotencyKey) open(answer string) ([]byte, error) {
	seal, text := k.seal, answer
	if before, after, ok := strings.Cut(answer, " "); ok {
		text = after
		id, err := strconv.ParseInt(before, 10, 64)
		if err != nil || k.secrets == nil {
			return nil, errMalformed
		}
		if id != k.secret {
			_, secret, err := k.secrets(context.Background(), id)
			if err != nil {
				return nil, err
			}
			if seal, err = answerSeal(secret, k.own); err != nil {
				return nil, err
			}
		}
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sealed) < seal.NonceSize() {
		return nil, errMalformed
	}
	n := seal.NonceSize()
	body, err := seal.Open(nil, sealed[:n], sealed[n:], []byte(k.digest))
	if err != nil {
		return nil, fmt.Errorf("open an idempotency record: %w", err)
	}
	return body, nil
}

var errMalformed = errors.New("read an idempotency record: malformed answer")

func (k *IdempotencyKey) lookup(tx *Tx) error {
	if k == nil {
		return nil
	}
	return k.Lookup(tx.Q, tx.Now())
}

func (k *IdempotencyKey) store(tx *Tx, out any) error {
	if k == nil {
		return nil
	}
	status, body, err := k.encode(out)
	if err != nil {
		return fmt.Errorf("encode the answer to store: %w", err)
	}
	nonce := make([]byte, k.seal.NonceSize())
	rand.Read(nonce)
	body = slices.Concat([]byte(k.fingerprint), body)
	answer := base64.StdEncoding.EncodeToString(k.seal.Seal(nonce, nonce, body, []byte(k.digest)))
	if k.secret != 0 {
		answer = strconv.FormatInt(k.secret, 10) + " " + answer
	}
	now := tx.Now()
	if k.expired {
		if err := tx.Exec(`DELETE FROM idempotency WHERE id = $1 AND created_at <= $2`, k.id, now-idempotencyLifetime.Milliseconds()); err != nil {
			return err
		}
	}
	tx.answers = append(tx.answers, []any{k.id, status, answer, now})
	return nil
}

const (
	insertAnswer = `INSERT INTO idempotency (id, status, answer, created_at) VALUES `
	answerValues = `($1, $2, $3, $4)`
)

// DeleteExpiredIdempotencyKeys deletes some of the idempotency records that are too old
// to be replayed. There is no index on their age. Ids are hashes and so spread evenly.
// Each call scans one of 1440 ranges of ids, so a call every minute covers all of them in
// a day.
func (tx *Tx) DeleteExpiredIdempotencyKeys() error {
	const ranges = 24 * 60
	bound := func(n uint64) string {
		if n == ranges {
			return "g" // sorts after every hexadecimal digit
		}
		return fmt.Sprintf("%04x", n*0x10000/ranges)
	}
	n := tx.db.expiryRange.Add(1) % ranges
	return tx.Exec(`DELETE FROM idempotency WHERE id >= $1 AND id < $2 AND created_at <= $3`,
		bound(n), bound(n+1), tx.Now()-idempotencyLifetime.Milliseconds())
}
