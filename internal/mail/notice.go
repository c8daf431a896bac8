package mail

import "time"

// SecurityEvent is a security event of an account, of which its owner is notified. The text
// is the subject of the mail.
type SecurityEvent string

const (
	PasskeyAdded    SecurityEvent = "A passkey was added to your Bursar account"
	PasskeyRemoved  SecurityEvent = "A passkey was removed from your Bursar account"
	PasswordChanged SecurityEvent = "The password of your Bursar account was changed"
	TOTPEnabled     SecurityEvent = "Two-step sign-in was turned on for your Bursar account"
	TOTPDisabled    SecurityEvent = "Two-step sign-in was turned off for your Bursar account"
	KeyCreated      SecurityEvent = "An API key was made for your Bursar account"
	NewBrowser      SecurityEvent = "Your Bursar account was signed in to from a new browser"
)

// Notice is the mail that notifies a person of an event of their account. The person who
// caused it chose Name and Browser freely; an empty one is left out.
type Notice struct {
	To      string
	What    SecurityEvent
	Name    string // of the passkey or key
	At      time.Time
	IP      string
	Browser string
	Account string // the page for the person's account
}

// Message returns the mail.
func (n Notice) Message() Message {
	what := string(n.What) + "."
	if name := plainName(n.Name); name != "" {
		what += " It is called “" + name + "”."
	}
	from := "From: " + n.IP
	if browser := plainName(n.Browser); browser != "" {
		from += ", with " + browser
	}
	return Message{
		To:      n.To,
		Subject: string(n.What),
		Text: paragraphs(
			"Hello,",
			what,
			"When: "+moment(n.At),
			from,
			"If this was you, there is nothing to do.",
			"If it was not you, someone else has access to your account. Change your password, end the sessions and remove the passkeys and API keys that you do not recognize:",
			n.Account,
			"If you cannot sign in, recover your account from the sign-in page, or ask the operator of this server to reset it.",
		),
		Button: Button{Label: "Open your account", Link: n.Account},
	}
}
