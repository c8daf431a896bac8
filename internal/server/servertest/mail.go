package servertest

import (
	"testing"

	"bursar/internal/config"
	"bursar/internal/db/dbtest"
	"bursar/internal/mail/smtptest"
)

// OnMail runs a test on every engine, each with a server that sends mail, in parallel with other tests.
func OnMail(t *testing.T, run func(t *testing.T, n *Node, box *smtptest.Server), options ...Option) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		box := smtptest.Start(t, smtptest.Options{})
		n := Start(t, store, append(options, func(c *config.Serve) { c.SMTPURL, c.MailFrom = box.URL, "Bursar <bursar@example.com>" })...)
		n.RunBackground(t)
		run(t, n, box)
	})
}
