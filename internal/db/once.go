package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"bursar/internal/fault"
)

// onceLifetime is how long an answer can be had again.
const onceLifetime = 24 * time.Hour

// Once makes a mutation happen at most once for an idempotency key.
type Once struct {
	id          string
	fingerprint string
	seal        cipher.AEAD
	encode      func(out any) (status int, body []byte, err error)
	expired     bool // an answer is stored whose time is over
}

// Replay is the answer that was given to the same request before.
type Replay struct {
	Status int
	Body   []byte
}

func (*Replay) Error() string { return "answered before" }

// NewOnce binds a caller's key to the request it stands for. encode makes the
// answer that is kept, the very bytes that are sent.
func NewOnce(caller, key string, request []byte, encode func(out any) (int, []byte, error)) (*Once, error) {
	block, err := aes.NewCipher(digest("seal", caller, key))
	if err != nil {
		return nil, fmt.Errorf("derive the key of an idempotency record: %w", err)
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("derive the key of an idempotency record: %w", err)
	}
	return &Once{
		id:          hex.EncodeToString(digest("id", caller, key)),
		fingerprint: hex.EncodeToString(digest("request", caller, request)),
		seal:        seal,
		encode:      encode,
	}, nil
}

func digest[T ~string | ~[]byte](use, caller string, text T) []byte {
	whole := make([]byte, 0, 512)
	whole = append(whole, "bursar once "...)
	whole = append(whole, use...)
	whole = append(whole, 0)
	whole = append(whole, caller...)
	whole = append(whole, 0)
	whole = append(whole, text...)
	sum := sha256.Sum256(whole)
	return sum[:]
}

// Start claims the key for a request on this node; a second one gets a conflict
// until the first has called done.
func (d *DB) Start(o *Once) (done func(), err error) {
	if _, taken := d.running.LoadOrStore(o.id, struct{}{}); taken {
		return nil, &fault.Fault{
			Code:       fault.IdempotencyConflict,
			Message:    "the first request with this idempotency key is still running",
			RetryAfter: time.Second,
		}
	}
	return func() { d.running.Delete(o.id) }, nil
}

// Recall looks for an earlier answer: a *Replay, an IDEMPOTENCY_CONFLICT or nil.
func (o *Once) Recall(q Q, now int64) error {
	var fingerprint, answer string
	var status, created int64
	found, err := q.Row(`SELECT fingerprint, status, answer, created_at FROM idempotency WHERE id = $1`, o.id).
		Scan(&fingerprint, &status, &answer, &created)
	o.expired = found && created <= now-onceLifetime.Milliseconds()
	if err != nil || !found || o.expired {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(fingerprint), []byte(o.fingerprint)) != 1 {
		return fault.New(fault.IdempotencyConflict, "this idempotency key was used for a different request")
	}
	sealed, err := base64.StdEncoding.DecodeString(answer)
	if err != nil || len(sealed) < o.seal.NonceSize() {
		return fmt.Errorf("read an idempotency record: malformed answer")
	}
	n := o.seal.NonceSize()
	body, err := o.seal.Open(nil, sealed[:n], sealed[n:], []byte(o.id))
	if err != nil {
		return fmt.Errorf("open an idempotency record: %w", err)
	}
	return &Replay{Status: int(status), Body: body}
}

func (o *Once) recall(tx *Tx) error {
	if o == nil {
		return nil
	}
	return o.Recall(tx.Q, tx.Now())
}

func (o *Once) keep(tx *Tx, out any) error {
	if o == nil {
		return nil
	}
	status, body, err := o.encode(out)
	if err != nil {
		return fmt.Errorf("encode the answer to keep: %w", err)
	}
	nonce := make([]byte, o.seal.NonceSize())
	rand.Read(nonce)
	answer := base64.StdEncoding.EncodeToString(o.seal.Seal(nonce, nonce, body, []byte(o.id)))
	now := tx.Now()
	if o.expired {
		if err := tx.Exec(`DELETE FROM idempotency WHERE id = $1 AND created_at <= $2`, o.id, now-onceLifetime.Milliseconds()); err != nil {
			return err
		}
	}
	return tx.Exec(`INSERT INTO idempotency (id, fingerprint, status, answer, created_at) VALUES ($1, $2, $3, $4, $5)`,
		o.id, o.fingerprint, status, answer, now)
}

// ForgetAnswers removes idempotency records past their time. It goes through the ids,
// which are spread evenly, a slice each time: called every minute, it meets all of them
// in a day.
func (tx *Tx) ForgetAnswers() error {
	const slices = 24 * 60
	bound := func(slice uint64) string {
		if slice == slices {
			return "g" // past the last digit
		}
		return fmt.Sprintf("%04x", slice*0x10000/slices)
	}
	slice := tx.db.slice.Add(1) % slices
	return tx.Exec(`DELETE FROM idempotency WHERE id >= $1 AND id < $2 AND created_at <= $3`,
		bound(slice), bound(slice+1), tx.Now()-onceLifetime.Milliseconds())
}
