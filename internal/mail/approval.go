package mail

import "fmt"

// ApprovalsWait is the mail that tells a person that something waits for their approval. It
// names no payee and no account: a mailbox is not the place for those.
type ApprovalsWait struct {
	To        string
	Workspace string
	Count     int
	Link      string // the page where they wait
}

// Message returns the mail.
func (a ApprovalsWait) Message() Message {
	what := "A change of where money goes waits"
	if a.Count > 1 {
		what = fmt.Sprintf("%d changes of where money goes wait", a.Count)
	}
	return Message{
		To:      a.To,
		Subject: what + " for your approval",
		Text: paragraphs(
			"Hello,",
			what+" for your approval in the workspace “"+plainName(a.Workspace)+"” on Bursar.",
			"Before you approve, ask the payee by a phone number that you have known for long, never by one that came with the change.",
			a.Link,
		),
		Button: Button{Label: "See what waits", Link: a.Link},
	}
}

// ApprovalDecided is the mail that tells a person how what they asked for ended.
type ApprovalDecided struct {
	To        string
	Workspace string
	State     string // approved, rejected, withdrawn, expired or void
	Decider   string // "" if nobody decided
	Reason    string
	Link      string
}

// Message returns the mail.
func (a ApprovalDecided) Message() Message {
	text := "What you asked for in the workspace “" + plainName(a.Workspace) + "” on Bursar is " + a.State
	if decider := plainName(a.Decider); decider != "" {
		text += ", by " + decider
	}
	text += "."
	if reason := plainName(a.Reason); reason != "" {
		text += " The reason: “" + reason + "”."
	}
	return Message{
		To:      a.To,
		Subject: "Your change of where money goes is " + a.State,
		Text:    paragraphs("Hello,", text, a.Link),
		Button:  Button{Label: "See the change", Link: a.Link},
	}
}
