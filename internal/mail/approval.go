package mail

import "fmt"

// ApprovalNoun contains the words for an approval: one, several, and what to do before
// approving it.
type ApprovalNoun struct{ One, Many, Advice string }

// The nouns of approvals. ARequest is for several kinds in one mail.
var (
	BankDetailsChange = ApprovalNoun{"change of where money goes", "changes of where money goes",
		"Before you approve, ask the payee by a phone number that you have known for long, never by one that came with the change."}
	APayout           = ApprovalNoun{"payout", "payouts", "Before you approve, compare the amount and the payee with what it is for."}
	APayoutResolution = ApprovalNoun{"finding whether a payout was paid", "findings whether payouts were paid",
		"Before you approve, check the evidence with the bank or its statement."}
	APayoutChange = ApprovalNoun{"change of how payouts are guarded", "changes of how payouts are guarded",
		"Before you approve, ask the requester why the rules should be looser."}
	AHeldPayout = ApprovalNoun{"held payout", "held payouts", "Before you approve, compare the payout with the limit or rule that holds it."}
	AGrant      = ApprovalNoun{"grant of a role", "grants of roles", "Before you approve, ask the requester why this person should approve."}
	ARequest    = ApprovalNoun{"request", "requests", BankDetailsChange.Advice}
)

// ApprovalsWait is the mail to an approver about pending approvals. It contains no payee
// and no account, because a mailbox is not a safe place for them.
type ApprovalsWait struct {
	To        string
	Workspace string
	What      ApprovalNoun
	Count     int
	Link      string // the page with the approvals
}

// Message returns the mail.
func (a ApprovalsWait) Message() Message {
	what := "A " + a.What.One + " waits"
	if a.Count > 1 {
		what = fmt.Sprintf("%d %s wait", a.Count, a.What.Many)
	}
	return Message{
		To:      a.To,
		Subject: what + " for your approval",
		Text: paragraphs(
			"Hello,",
			what+" for your approval in the workspace “"+plainName(a.Workspace)+"” on Bursar.",
			a.What.Advice,
			a.Link,
		),
		Button: Button{Label: "See what waits", Link: a.Link},
	}
}

// ApprovalDecided is the mail to a requester about the result of an approval.
type ApprovalDecided struct {
	To        string
	Workspace string
	What      ApprovalNoun
	State     string // approved, rejected, withdrawn, expired or void
	Decider   string // "" if there is none
	Reason    string
	Link      string
}

// Message returns the mail.
func (a ApprovalDecided) Message() Message {
	text := "Your request in the workspace “" + plainName(a.Workspace) + "” on Bursar is " + a.State
	if decider := plainName(a.Decider); decider != "" {
		text += ", by " + decider
	}
	text += "."
	if reason := plainName(a.Reason); reason != "" {
		text += " The reason: “" + reason + "”."
	}
	return Message{
		To:      a.To,
		Subject: "Your " + a.What.One + " is " + a.State,
		Text:    paragraphs("Hello,", text, a.Link),
		Button:  Button{Label: "See the change", Link: a.Link},
	}
}
