package smtptest

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// Received is a message as a mail program would show it.
type Received struct {
	From    string   // of the envelope
	To      []string // of the envelope
	Subject string
	Text    string
	HTML    string
	Header  mail.Header
	User    string // who had signed in
	TLS     bool
}

func parse(r io.Reader) (Received, error) {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return Received{}, err
	}
	got := Received{Header: message.Header}
	if got.Subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil {
		return got, fmt.Errorf("decode the subject: %w", err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return got, fmt.Errorf("want multipart/alternative, got %q: %v", kind, err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart() // decodes quoted-printable
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, fmt.Errorf("read a part: %w", err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return got, fmt.Errorf("read a part: %w", err)
		}
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		switch kind := part.Header.Get("Content-Type"); kind {
		case "text/plain; charset=UTF-8":
			got.Text = text
		case "text/html; charset=UTF-8":
			got.HTML = text
		default:
			return got, fmt.Errorf("a part is of the unknown type %q", kind)
		}
	}
}
