package e2e_test

import (
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
	"bursar/internal/server/servertest"
)

// No one but the mailbox sees the link of an invitation, so it must not die with the server that was to mail it.
func TestMailThatWaitedWhenTheServerWasKilledIsSentByTheNext(t *testing.T) {
	t.Parallel()
	box := smtptest.Start(t, smtptest.Options{})
	box.Down()
	store := dbtest.SQLite(t)
	made := initialise(t, store)
	serve := func() *process { return start(t, store, "--smtp-url", box.URL, "--mail-from", "bursar@example.com") }
	p := serve()
	admin := servertest.Remote(t, p.URL, made).Admin(t)
	admin.Post("/v1/workspaces/"+made.WorkspaceID+"/members", servertest.Body{"email": "grace@example.com", "role": "viewer"}).OK()
	p.kill()
	box.Up()
	serve()
	if got := box.Wait(t, 1)[0]; len(got.To) != 1 || got.To[0] != "grace@example.com" {
		t.Errorf("a message came to %v", got.To)
	}
}
