package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"bursar/internal/server/servertest"
)

// connection is one connection to a server, without the retries of a client.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func dial(t *testing.T, p *process) *connection {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return &connection{conn, bufio.NewReader(conn)}
}

// head is a request up to its body.
func head(method, path, token string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: bursar\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		method, path, token, length)
}

// ask sends a request and reads the answer to its end.
func (c *connection) ask(method, path, token string, body string) (*http.Response, []byte, error) {
	if _, err := io.WriteString(c, head(method, path, token, len(body))+body); err != nil {
		return nil, nil, fmt.Errorf("send the request: %w", err)
	}
	return c.answer(method)
}

func (c *connection) answer(method string) (*http.Response, []byte, error) {
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("read the body: %w", err)
	}
	return response, body, nil
}

// newPerson is the body of a create.
func newPerson(workspace string) string {
	body, err := json.Marshal(servertest.Body{"workspace_id": workspace, "type": "person", "fields": servertest.Body{"email": "grace@example.com"}})
	if err != nil {
		panic(err)
	}
	return string(body)
}
