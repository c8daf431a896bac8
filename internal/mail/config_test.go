package mail_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"bursar/internal/mail"
)

func TestParseAcceptsServers(t *testing.T) {
	for _, url := range []string{
		"smtp://mail.example.com",
		"smtp://mail.example.com/",
		"smtp://mail.example.com:2525",
		"smtp://user:sesame@mail.example.com",
		"smtp://user%40example.com:se%2Fsa%23me@mail.example.com:587",
		"smtp://user@example.com:sesame@mail.example.com",
		"smtps://user:sesame@mail.example.com",
		"smtps://mail.example.com:8465",
		"smtp://localhost:25",
		"smtp://localhost:25?starttls=off",
		"smtp://user:sesame@127.0.0.1:1025?starttls=off",
		"smtp://127.8.9.10?starttls=off",
		"smtp://[::1]:1025?starttls=off",
	} {
		if _, err := mail.Parse(url, "bursar@example.com"); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestParseRefusesServersWithoutRepeatingThePassword(t *testing.T) {
	for url, want := range map[string]string{
		"":                                                    "must be an address such as",
		"mail.example.com":                                    "must be an address such as",
		"mail.example.com:587":                                "must be an address such as",
		"smtp://":                                             "must be an address such as",
		"smtp://user:sesame@":                                 "must be an address such as",
		"smtp://user:se/same@mail.example":                    "must be an address such as",
		"smtp://user:12#sesame@mail.example":                  "must be an address such as",
		"smtp://user:12/sesame@mail.example":                  "must be an address such as",
		"smtp://user:ses%ame@mail.example":                    "must be an address such as",
		"smtp://user:12?sesame@mail.example":                  "?starttls=off and nothing else",
		"smtp://mail.example.com/inbox":                       "must be an address such as",
		"http://user:sesame@mail.example":                     "must begin with smtp:// or smtps://",
		"smtp://mail.example.com:0":                           "port must be a number",
		"smtp://mail.example.com:65536":                       "port must be a number",
		"smtp://mail.example.com:sesame":                      "must be an address such as",
		"smtp://user@mail.example.com":                        "both a user and a password",
		"smtp://:sesame@mail.example.com":                     "both a user and a password",
		"smtp://localhost?starttls=on":                        "?starttls=off and nothing else",
		"smtp://localhost?tls=sesame":                         "?starttls=off and nothing else",
		"smtps://localhost?starttls=off":                      "does not go with smtps://",
		"smtp://mail.example.com?starttls=off":                "must not send a password in clear",
		"smtp://user:sesame@mail.example.com?starttls=off":    "must not send a password in clear",
		"smtp://user:sesame@localhost.evil.test?starttls=off": "must not send a password in clear",
		"smtp://user:sesame@10.0.0.1?starttls=off":            "must not send a password in clear",
	} {
		_, err := mail.Parse(url, "bursar@example.com")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", url, want, err)
			continue
		}
		if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "same@") {
			t.Errorf("%s: the error repeats the password: %v", url, err)
		}
		if _, again := mail.New(mail.Config{URL: url, From: "bursar@example.com"}, nil, nil, slog.New(slog.DiscardHandler)); again == nil {
			t.Errorf("%s: New takes what Parse refuses", url)
		}
	}
}

func TestParseChecksTheSender(t *testing.T) {
	const url = "smtp://mail.example.com"
	for _, from := range []string{"bursar@example.com", "Bursar <bursar@example.com>", `"Bursar, Ops" <ops@example.com>`, "Tesourária <t@example.com>"} {
		if _, err := mail.Parse(url, from); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
	for _, from := range []string{"", "bursar", "a@example.com, b@example.com", "a@example.com\r\nBcc: b@example.com"} {
		if _, err := mail.Parse(url, from); err == nil {
			t.Errorf("%q is taken for a sender", from)
		}
	}
}

func TestNothingSetIsNoError(t *testing.T) {
	config, err := mail.Parse("", "")
	if err != nil || !config.Empty() {
		t.Errorf("nothing set gives %v, %v", config, err)
	}
}

func TestPrintedSettingsDoNotRevealThePassword(t *testing.T) {
	config, err := mail.Parse("smtp://user:sesame@mail.example.com", "bursar@example.com")
	if err != nil {
		t.Fatal(err)
	}
	book := &logBook{}
	slog.New(slog.NewJSONHandler(book, nil)).Info("settings", "mail", config)
	slog.New(slog.NewTextHandler(book, nil)).Info("settings", "mail", config)
	fmt.Fprintf(book, "%v %+v %s\n", config, config, config)
	if err := json.NewEncoder(book).Encode(config.String()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(book.String(), "sesame") || !strings.Contains(book.String(), "mail.example.com:587") {
		t.Errorf("printed settings:\n%s", book)
	}
}
