package mail_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"bursar/internal/mail"
	"bursar/internal/mail/smtptest"
)

func invitation() mail.Invitation {
	return mail.Invitation{
		To:           recipient,
		Inviter:      "Zoë Ångström",
		Workspace:    "Contas a pagar — São Paulo",
		Organization: "北京 Ltda 🦊",
		Link:         secret,
		ExpiresAt:    time.Date(2026, 10, 8, 16, 5, 0, 0, time.FixedZone("CEST", 2*60*60)),
	}
}

func arrive(t *testing.T, m mail.Message) smtptest.Received {
	t.Helper()
	server := smtptest.Start(t, smtptest.Options{})
	open(t, mail.Config{URL: server.URL}).send(t, m)
	return server.Wait(t, 1)[0]
}

func TestInvitation(t *testing.T) {
	got := arrive(t, invitation().Message())
	if want := "Invitation to 北京 Ltda 🦊 on Bursar"; got.Subject != want {
		t.Errorf("subject: %q", got.Subject)
	}
	for _, part := range []string{
		"Zoë Ångström invites you to join the workspace “Contas a pagar — São Paulo” of “北京 Ltda 🦊” on Bursar.",
		secret,
		"It expires on 8 October 2026 at 14:05 UTC.",
		"Never forward it",
		"Nothing changes until the link is used.",
	} {
		if !strings.Contains(got.Text, part) || !strings.Contains(got.HTML, part) {
			t.Errorf("%q is not in both of\n%s\n%s", part, got.Text, got.HTML)
		}
	}
	if !strings.Contains(got.Text, "\n\n"+secret+"\n\n") {
		t.Errorf("the link is not on its own line:\n%s", got.Text)
	}
}

func TestInvitationLeavesOutWhatItDoesNotKnow(t *testing.T) {
	for want, change := range map[string]func(*mail.Invitation){
		"You are invited to join the workspace “Contas a pagar — São Paulo” of “北京 Ltda 🦊” on Bursar.": func(i *mail.Invitation) { i.Inviter = " " },
		"Zoë Ångström invites you to join “北京 Ltda 🦊” on Bursar.":                                      func(i *mail.Invitation) { i.Workspace = "" },
		"Zoë Ångström invites you to join the workspace “Contas a pagar — São Paulo” on Bursar.":       func(i *mail.Invitation) { i.Organization = "" },
		"Zoë Ångström invites you to join Bursar.":                                                     func(i *mail.Invitation) { i.Organization, i.Workspace = "", "" },
	} {
		i := invitation()
		change(&i)
		if text := i.Message().Text; !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestAccountLink(t *testing.T) {
	got := arrive(t, link())
	for _, part := range []string{
		"set up or recover how you sign in",
		secret,
		"It expires on 8 October 2026 at 14:05 UTC.",
		"Never forward it",
		"If you did not ask for this, ignore this message. Nothing changes until the link is used.",
	} {
		if !strings.Contains(got.Text, part) || !strings.Contains(got.HTML, part) {
			t.Errorf("%q is not in both of\n%s\n%s", part, got.Text, got.HTML)
		}
	}
}

// One link, nothing fetched, no scripts.
func TestPageHasTheLinkAndLoadsNothing(t *testing.T) {
	got := arrive(t, invitation().Message())
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(got.HTML, -1)
	if len(links) != 1 || links[0][1] != secret {
		t.Errorf("links: %v", links)
	}
	for _, loading := range []string{"<img", "<link", "<script", "<iframe", "src=", "url(", "@import"} {
		if strings.Contains(got.HTML, loading) {
			t.Errorf("the page has %s:\n%s", loading, got.HTML)
		}
	}
}

func TestANameCannotPoseAsSomethingElse(t *testing.T) {
	clickable := regexp.MustCompile(`\S[.:。．｡․：]\S`)
	for _, name := range []string{
		"https://evil.example/login",
		"www.evil.example",
		"evil.example",
		"evil．example",
		"evil。example",
		"ops@evil.example",
		"mailto:ops@evil.example",
		"evil.\u200dexample",
		"evil\u200b.example",
		"evil.\u202eexample",
		`<a href="https://evil.example">Acme</a>`,
		"Acme\r\nBcc: evil@evil.example",
		"Acme\u2028\u2029\u0000\u001b[31m\u202eemca",
		"\xff\xfe.evil",
		strings.Repeat("long ", 100_000),
	} {
		m := mail.Invitation{To: recipient, Inviter: name, Workspace: name, Organization: name, Link: "LINK"}.Message()
		text := m.Subject + "\t" + strings.Split(m.Text, "\n\n")[1]
		if clickable.MatchString(text) {
			t.Errorf("%q can be clicked in %q", name, text)
		}
		if strings.ContainsAny(text, "\r\n\x00\x1b\u202e\u200b\u2028\u2029") {
			t.Errorf("%q leaves invisible characters in %q", name, text)
		}
		if len([]rune(m.Subject)) > 120 || len([]rune(m.Text)) > 800 {
			t.Errorf("a name makes a subject of %d and a text of %d bytes", len(m.Subject), len(m.Text))
		}
		page := arrive(t, m)
		if n := strings.Count(page.HTML, "<a "); n != 1 || len(page.To) != 1 {
			t.Errorf("%q makes %d links and %d recipients:\n%s", name, n, len(page.To), page.HTML)
		}
	}
}

func TestAMessageCannotGainHeadersOrRecipients(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := open(t, mail.Config{URL: server.URL})
	for _, m := range []mail.Message{
		{To: recipient, Subject: "Hello\r\nBcc: evil@evil.example"},
		{To: recipient, Subject: "Hello\nBcc: evil@evil.example"},
		{To: recipient, Subject: "Hello\x00"},
		{To: recipient, Subject: ""},
		{To: recipient, Subject: strings.Repeat("x", 1000)},
		{To: recipient + "\r\nBcc: evil@evil.example", Subject: "Hello"},
		{To: recipient + "\n", Subject: "Hello"},
		{To: recipient + ", evil@evil.example", Subject: "Hello"},
		{To: "Carla <" + recipient + ">", Subject: "Hello"},
		{To: "group: " + recipient + ";", Subject: "Hello"},
		{To: "carla", Subject: "Hello"},
		{To: "", Subject: "Hello"},
		{To: strings.Repeat("x", 300) + "@receiver.example", Subject: "Hello"},
	} {
		if err := o.queue(t, mail.Accounts, m); err != nil || o.waiting(t) != 0 {
			t.Errorf("%q to %q was queued: %v", m.Subject, m.To, err)
		}
	}
	o.keepsSecrets(t)
	o.send(t, link())
	server.Wait(t, 1)
	o.stop()
	if got := len(server.Received()); got != 1 {
		t.Errorf("received %d messages", got)
	}
}

func TestAddressesBeyondASCIIArrive(t *testing.T) {
	m := link()
	m.To = "josé@receiver.example"
	if got := arrive(t, m); got.To[0] != m.To {
		t.Errorf("arrived at %q", got.To)
	}
}
