// Package concurrent has the tests of a server, or of several nodes, that does many things at once. They run with the race
// detector.
package concurrent_test

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type body = servertest.Body

// person is a request that makes an entry.
func person(x *servertest.Tenant, name string) body {
	return body{"workspace_id": x.WorkspaceID, "type": "person", "fields": body{}, "name": name}
}

// once sends a request with an idempotency key.
func once(c *servertest.Client, key, method, path string, content any) *servertest.Answer {
	return c.Do(method, path, content, "Idempotency-Key", key)
}

// keyID returns the id of the key that signed a token.
func keyID(t *testing.T, token string) any {
	t.Helper()
	parsed, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		t.Fatalf("parse a token: %v", err)
	}
	return parsed.Header["kid"]
}
