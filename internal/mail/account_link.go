package mail

import "time"

// AccountLink is the mail with a link to set up or recover a sign-in.
type AccountLink struct {
	To        string
	Link      string
	ExpiresAt time.Time
}

// Message returns the mail.
func (a AccountLink) Message() Message {
	return Message{
		To:      a.To,
		Subject: "Set up or recover how you sign in to Bursar",
		Text: paragraphs(
			"Hello,",
			"This is your link to set up or recover how you sign in to Bursar:",
			a.Link,
			"It expires on "+moment(a.ExpiresAt)+".",
			"The link is for you alone. Never forward it, and do not give it to anyone: anyone who opens it can sign in as you.",
			"If you did not ask for this, ignore this message. Nothing changes until the link is used.",
		),
		Button: Button{Label: "Continue", Link: a.Link},
	}
}
