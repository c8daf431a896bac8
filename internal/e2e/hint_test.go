package e2e_test

import (
	"net"
	"strings"
	"testing"

	"bursar/internal/db/dbtest"
)

func TestServeReportsABusyPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	got := command(t, nil, append([]string{"serve", "--listen", taken.Addr().String()}, at(dbtest.SQLite(t))...)...)
	if got.Code != 1 || !strings.Contains(got.Err, "address already in use") || !strings.Contains(got.Err, "--listen") || strings.Contains(got.Err, "context list") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Err)
	}
}

func TestAnUnreachablePostgreSQLIsNamed(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"serve --listen 127.0.0.1:0", "admin user list", "admin keys rotate"} {
		got := command(t, nil, append(strings.Fields(line), "--database-url", "postgres://bursar:hunter2@"+address+"/bursar")...)
		if got.Code != 1 || !strings.Contains(got.Err, "PostgreSQL") || !strings.Contains(got.Err, "--database-url") {
			t.Errorf("%s: exit code %d:\n%s", line, got.Code, got.Err)
		}
		if strings.Count(got.Err, "connection refused") != 1 {
			t.Errorf("%s: the cause is not said once:\n%s", line, got.Err)
		}
		if strings.Contains(got.Err, "context list") || strings.Contains(got.Err, "hunter2") {
			t.Errorf("%s: the error misleads or shows the password:\n%s", line, got.Err)
		}
	}
}
