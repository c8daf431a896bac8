package mail

import "time"

// Invitation is the mail that invites a person to a workspace. Inviter, Workspace and
// Organization are names that users choose freely; an empty one is left out.
type Invitation struct {
	To           string
	Inviter      string
	Workspace    string
	Organization string
	Link         string
	ExpiresAt    time.Time
}

// Message returns the mail.
func (i Invitation) Message() Message {
	opening := "You are invited to join "
	if inviter := plainName(i.Inviter); inviter != "" {
		opening = inviter + " invites you to join "
	}
	subject := "Invitation to Bursar"
	place := "Bursar"
	workspace, organization := plainName(i.Workspace), plainName(i.Organization)
	switch {
	case workspace != "" && organization != "":
		subject = "Invitation to " + organization + " on Bursar"
		place = "the workspace “" + workspace + "” of “" + organization + "” on Bursar"
	case workspace != "":
		subject = "Invitation to " + workspace + " on Bursar"
		place = "the workspace “" + workspace + "” on Bursar"
	case organization != "":
		subject = "Invitation to " + organization + " on Bursar"
		place = "“" + organization + "” on Bursar"
	}
	return Message{
		To:      i.To,
		Subject: subject,
		Text: paragraphs(
			"Hello,",
			opening+place+".",
			"To accept, open this link:",
			i.Link,
			"It expires on "+moment(i.ExpiresAt)+".",
			"The link is for you alone. Never forward it: anyone who opens it can accept in your place.",
			"If you did not expect this invitation, ignore this message. Nothing changes until the link is used.",
		),
		Button: Button{Label: "Accept the invitation", Link: i.Link},
	}
}
