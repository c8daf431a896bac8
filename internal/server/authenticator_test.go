package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// authenticator makes a passkey and signs with it, as the device of a person does.
type authenticator struct {
	t      testing.TB
	origin string
	host   string
	handle []byte // of the account
	id     []byte
	key    *ecdsa.PrivateKey
}

func newAuthenticator(t testing.TB, origin, host string) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{t: t, origin: origin, host: host, id: []byte(rand.Text()), key: key}
}

// make answers an offer to make a passkey.
func (a *authenticator) make(options []byte, account string) []byte {
	a.handle = []byte(account)
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	data := a.data(0x45) // present, verified, with a key
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(data, a.id...)
	data = append(data, "\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20"...) // a key of P-256, in CBOR
	data = append(data, point[1:33]...)
	data = append(data, "\x22\x58\x20"...)
	data = append(data, point[33:]...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return a.answer(map[string]string{
		"clientDataJSON":    encoded(a.client("webauthn.create", options)),
		"attestationObject": encoded(append(object, data...)),
	})
}

// sign answers a question who someone is.
func (a *authenticator) sign(options []byte) []byte {
	client, data := a.client("webauthn.get", options), a.data(0x05)
	about := sha256.Sum256(client)
	sum := sha256.Sum256(append(append([]byte{}, data...), about[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]string{
		"clientDataJSON": encoded(client), "authenticatorData": encoded(data),
		"signature": encoded(signature), "userHandle": encoded(a.handle),
	})
}

func (a *authenticator) data(flags byte) []byte {
	host := sha256.Sum256([]byte(a.host))
	return append(host[:], flags, 0, 0, 0, 0)
}

func (a *authenticator) client(kind string, options []byte) []byte {
	var asked struct {
		PublicKey struct{ Challenge string } `json:"publicKey"`
	}
	if err := json.Unmarshal(options, &asked); err != nil {
		a.t.Fatal(err)
	}
	return a.json(map[string]string{"type": kind, "challenge": asked.PublicKey.Challenge, "origin": a.origin})
}

func (a *authenticator) answer(response map[string]string) []byte {
	return a.json(map[string]any{"id": encoded(a.id), "rawId": encoded(a.id), "type": "public-key", "response": response})
}

func (a *authenticator) json(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

func encoded(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
