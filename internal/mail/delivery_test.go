package mail_test

import (
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	bursarmail "bursar/internal/mail"
	"bursar/internal/mail/smtptest"
)

func TestMailArrivesByEveryRoute(t *testing.T) {
	signedIn := smtptest.Options{User: "bursar@sender.example", Password: "open sesame/#?%"}
	for name, test := range map[string]struct {
		security smtptest.Security
		login    bool
		query    string
		tls      bool
	}{
		"in clear":                          {security: smtptest.Clear},
		"in clear, signed in":               {security: smtptest.Clear, login: true},
		"STARTTLS":                          {security: smtptest.StartTLS, tls: true},
		"STARTTLS, signed in":               {security: smtptest.StartTLS, login: true, tls: true},
		"STARTTLS on offer and turned down": {security: smtptest.StartTLS, query: "?starttls=off"},
		"TLS from the start":                {security: smtptest.ImplicitTLS, tls: true},
		"TLS from the start, signed in":     {security: smtptest.ImplicitTLS, login: true, tls: true},
	} {
		t.Run(name, func(t *testing.T) {
			options := smtptest.Options{Security: test.security}
			if test.login {
				options.User, options.Password = signedIn.User, signedIn.Password
			}
			server := smtptest.Start(t, options)
			o := open(t, bursarmail.Config{URL: server.URL + test.query, RootCAs: server.RootCAs})
			o.send(t, link())
			got := server.Wait(t, 1)[0]
			if got.TLS != test.tls || got.User != options.User {
				t.Errorf("arrived with TLS %t from user %q", got.TLS, got.User)
			}
			if got.From != "bursar@sender.example" || !cmp.Equal(got.To, []string{recipient}) || got.Subject != link().Subject || got.Text != link().Text {
				t.Errorf("arrived as %+v", got)
			}
			o.keepsSecrets(t)
		})
	}
}

func TestAServerElsewhereMustProveItsName(t *testing.T) {
	for name, test := range map[string]struct {
		url      string
		security smtptest.Security
		arrives  bool
	}{
		"STARTTLS with its name":             {"smtp://user:sesame@" + smtptest.Host, smtptest.StartTLS, true},
		"STARTTLS with another name":         {"smtp://user:sesame@other.example.com", smtptest.StartTLS, false},
		"no STARTTLS":                        {"smtp://user:sesame@" + smtptest.Host, smtptest.Clear, false},
		"no STARTTLS and no password":        {"smtp://" + smtptest.Host, smtptest.Clear, false},
		"TLS from the start":                 {"smtps://user:sesame@" + smtptest.Host, smtptest.ImplicitTLS, true},
		"TLS from the start in another name": {"smtps://user:sesame@other.example.com", smtptest.ImplicitTLS, false},
	} {
		t.Run(name, func(t *testing.T) {
			options := smtptest.Options{Security: test.security}
			if strings.Contains(test.url, "@") {
				options.User, options.Password = "user", "sesame"
			}
			server := smtptest.Start(t, options)
			o := closed(t, bursarmail.Config{URL: test.url, RootCAs: server.RootCAs, Backoff: quick(1)})
			o.DialTo(server.Address)
			o.send(t, link())
			o.open(t).ended(t)
			if test.arrives {
				server.Wait(t, 1)
				return
			}
			if seen := server.Counts(); seen.Logins != 0 || seen.Messages != 0 {
				t.Errorf("the server saw %+v", seen)
			}
			if !strings.Contains(o.log.String(), "mail was not delivered") {
				t.Errorf("the failure is not in the log: %s", o.log)
			}
			o.keepsSecrets(t)
		})
	}
}

func TestAnUnknownAuthorityIsNotTrusted(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{Security: smtptest.ImplicitTLS})
	o := closed(t, bursarmail.Config{URL: server.URL, Backoff: quick(1)})
	o.send(t, link())
	o.open(t).ended(t)
	if len(server.Received()) != 0 || !strings.Contains(o.log.String(), "certificate") {
		t.Errorf("received %v, log:\n%s", server.Received(), o.log)
	}
}

func TestAWrongPasswordIsNotTriedAgain(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{User: "user", Password: "another"})
	o := open(t, bursarmail.Config{URL: strings.Replace(server.URL, "another", "sesame", 1), Backoff: quick(4)})
	o.send(t, link())
	o.ended(t)
	if got := server.Counts().Logins; got != 1 {
		t.Errorf("signed in %d times", got)
	}
	if !strings.Contains(o.log.String(), "535 5.7.8") {
		t.Errorf("the reason is not in the log: %s", o.log)
	}
	o.keepsSecrets(t)
}

func TestHeaders(t *testing.T) {
	server := smtptest.Start(t, smtptest.Options{})
	o := open(t, bursarmail.Config{URL: server.URL, From: "Tesourária <bursar@sender.example>"})
	o.send(t, link())
	o.send(t, link())
	got := server.Wait(t, 2)
	header := got[0].Header
	from, err := header.AddressList("From")
	if diff := cmp.Diff([]*mail.Address{{Name: "Tesourária", Address: "bursar@sender.example"}}, from); err != nil || diff != "" {
		t.Errorf("From: %v %s", err, diff)
	}
	to, err := header.AddressList("To")
	if diff := cmp.Diff([]*mail.Address{{Address: recipient}}, to); err != nil || diff != "" {
		t.Errorf("To: %v %s", err, diff)
	}
	if date, err := header.Date(); err != nil || time.Since(date) > time.Hour {
		t.Errorf("Date: %v %v", date, err)
	}
	if header.Get("Auto-Submitted") != "auto-generated" || header.Get("Mime-Version") != "1.0" {
		t.Errorf("headers: %v", header)
	}
	first, second := header.Get("Message-Id"), got[1].Header.Get("Message-Id")
	if first == second || !strings.HasPrefix(first, "<") || !strings.HasSuffix(first, "@sender.example>") {
		t.Errorf("Message-ID: %q and %q", first, second)
	}
	for name := range header {
		switch name {
		case "From", "To", "Subject", "Date", "Message-Id", "Auto-Submitted", "Mime-Version", "Content-Type":
		default:
			t.Errorf("there is a header %s: %v", name, header[name])
		}
	}
}
