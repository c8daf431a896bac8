package mail

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// Message is a mail to one person.
type Message struct {
	To      string // an address without a name
	Subject string
	Text    string // paragraphs separated by empty lines
	Button  Button // in the HTML, replaces the paragraph of Text that is its link
}

// Button is a link to open.
type Button struct {
	Label, Link string
}

const (
	maxAddress = 254 // RFC 5321, 4.5.3.1.3
	maxSubject = 200
)

func paragraphs(list ...string) string { return strings.Join(list, "\n\n") }

func moment(t time.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }

// CheckRecipient refuses a text that is not exactly one address in the form that mail needs.
func CheckRecipient(to string) error {
	address, err := netmail.ParseAddress(to)
	if err != nil || address.Address != to || len(to) > maxAddress || strings.ContainsFunc(to, unicode.IsControl) {
		return errors.New("the recipient must be one address without a name")
	}
	return nil
}

// check refuses text that could inject another header or another recipient.
func (m Message) check() error {
	if err := CheckRecipient(m.To); err != nil {
		return err
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return errors.New("the subject must have no line breaks or other control characters")
	}
	if m.Subject == "" || len([]rune(m.Subject)) > maxSubject {
		return fmt.Errorf("the subject must have 1 to %d characters", maxSubject)
	}
	return nil
}

// compose returns the content of a letter. Its Message-ID is the same at every attempt of every node.
func (m *Mailer) compose(l letter) (*gomail.Msg, error) {
	page, err := m.render(l.message)
	if err != nil {
		return nil, fmt.Errorf("render the message: %w", err)
	}
	content := gomail.NewMsg(gomail.WithCharset(gomail.CharsetUTF8), gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	content.FromMailAddress(m.from)
	content.ToMailAddress(&netmail.Address{Address: l.message.To})
	content.Subject(l.message.Subject)
	content.SetDateWithValue(time.UnixMilli(l.createdAt).UTC())
	content.SetMessageIDWithValue(l.id + "@" + domainOf(m.from.Address))
	content.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: prevents vacation replies
	content.SetBodyString(gomail.TypeTextPlain, strings.ToValidUTF8(l.message.Text, "\uFFFD"))
	content.AddAlternativeString(gomail.TypeTextHTML, page)
	return content, nil
}

func (m *Mailer) render(message Message) (string, error) {
	var out strings.Builder
	err := m.page.Execute(&out, struct {
		Subject    string
		Paragraphs []string
		Button     Button
	}{message.Subject, strings.Split(message.Text, "\n\n"), message.Button})
	return out.String(), err
}

// domainOf returns the part of an address that may be logged.
func domainOf(address string) string {
	return address[strings.LastIndexByte(address, '@')+1:]
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}
