package console_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bursar/internal/backup"
	"bursar/internal/backup/continuous"
	"bursar/internal/db"
)

func TestHomeWarnsTheOwnerThatThereIsNoBackup(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.Member(t, "auditor@example.com", "auditor")
	const none = "has no backup"
	if body := browse(t, n, adminEmail).get(room(n, "")).body; strings.Contains(body, none) {
		t.Error("a store of today needs a backup")
	}
	n.Clock.Advance(25 * time.Hour)
	if body := browse(t, n, adminEmail).get(room(n, "")).body; !strings.Contains(body, none) {
		t.Error("nobody says that there is no backup")
	}
	if body := browse(t, n, "auditor@example.com").get(room(n, "")).body; strings.Contains(body, none) {
		t.Error("somebody hears of it who cannot do anything about it")
	}
	if _, err := backup.WriteFile(t.Context(), n.DB, db.Caller{}, filepath.Join(t.TempDir(), "archive"), backup.Keys{Plain: true}, nil); err != nil {
		t.Fatal(err)
	}
	if body := browse(t, n, adminEmail).get(room(n, "")).body; strings.Contains(body, "backup") {
		t.Error("there is an archive of today")
	}
	n.Clock.Advance(8 * 24 * time.Hour)
	page := open(t, n, adminEmail, "")
	page.WaitText("The backup is old")
	page.Accessible("home-backup")
	page.Shoot("home-backup")
}

func TestHomeWarnsTheOwnerThatTheBackupIsNotGood(t *testing.T) {
	t.Parallel()
	n := start(t)
	var status continuous.Status
	n.Server.ShowBackup(func() continuous.Status { return status })
	now := n.Clock.Now()
	for _, c := range []struct {
		name   string
		status continuous.Status
		want   string
	}{
		{"good", continuous.Status{Base: now, Safe: now.Add(-time.Second)}, ""},
		{"at the start", continuous.Status{}, "is making a copy of everything"},
		{"after a gap", continuous.Status{Base: now, Safe: now, Broken: true}, "is making a copy of everything"},
		{"never reached", continuous.Status{Failure: "upload: no such host"}, "does not work"},
		{"old", continuous.Status{Base: now, Safe: now.Add(-time.Hour), Failure: "upload: no such host"}, "The backup</strong> is old"},
		{"not verified", continuous.Status{Base: now, Safe: now, Verified: continuous.Verified{At: now, Error: "damaged"}}, "its last verification failed"},
	} {
		status = c.status
		body := browse(t, n, adminEmail).get(room(n, "")).body
		if got := strings.Contains(body, "The backup"); got != (c.want != "") || !strings.Contains(body, c.want) {
			t.Errorf("%s: a warning is %v", c.name, got)
		}
		if strings.Contains(body, "no such host") {
			t.Errorf("%s: the page tells what only operators should know", c.name)
		}
	}
}
