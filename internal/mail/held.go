package mail

import "fmt"

// HeldTask is the task of the recipient of HeldPayouts.
type HeldTask int

const (
	ApproveHeld HeldTask = iota // as another person
	AwaitHeld                   // as the requester, while another person can approve
	ConfirmHeld                 // as the requester, where no other person can approve
	EndHeld                     // as the owner of a machine client, where no other person can approve
)

// HeldPayout is a payout or a batch that is held.
type HeldPayout struct {
	ID    string
	Batch int    // how many payouts of the batch are held; 0 for a single payout
	Why   string // the limits and rules that hold it
}

// HeldPayouts is the mail about payouts that a stricter limit or rule holds. It names them by their ids, because a mailbox is not a
// safe place for payees and accounts.
type HeldPayouts struct {
	To        string
	Workspace string
	Task      HeldTask
	Client    string // the machine client of the recipient that requested them; "" if a person did
	Payouts   []HeldPayout
	Link      string
}

// maxHeld is how many payouts and batches a mail lists.
const maxHeld = 20

// Message returns the mail.
func (h HeldPayouts) Message() Message {
	count := 0
	var named []string
	for _, p := range h.Payouts {
		name := "Payout " + p.ID
		if count++; p.Batch > 0 {
			name = fmt.Sprintf("Batch %s, payouts: %d", p.ID, p.Batch)
			count += p.Batch - 1
		}
		named = append(named, name+". Held by "+p.Why+".")
	}
	if more := len(named) - maxHeld; more > 0 {
		named = append(named[:maxHeld], fmt.Sprintf("And %d more.", more))
	}
	what, is, need, it := "A payout", "is", "needs", "it"
	if count > 1 {
		what, is, need, it = fmt.Sprintf("%d payouts", count), "are", "need", "them"
	}
	switch {
	case h.Task == ApproveHeld:
	case h.Client != "":
		what += " of your machine client “" + plainName(h.Client) + "”"
	default:
		what += " of yours"
	}
	subject, label := what+" "+is+" on hold", "See what is held"
	var todo string
	switch h.Task {
	case ApproveHeld:
		subject, label, todo = what+" on hold "+need+" your approval", "See what waits", AHeldPayout.Advice
	case AwaitHeld:
		todo = "Another person has to approve " + it + "."
	case ConfirmHeld:
		subject += ": confirm " + it
		todo = "No other person can approve " + it + ". To send " + it + ", sign in again and confirm " + it + "."
	case EndHeld:
		todo = "No other person can approve " + it + ", and a machine client cannot confirm " + it + ". Cancel " + it + ", or change the limit or rule."
	}
	text := []string{"Hello,", what + " in the workspace “" + plainName(h.Workspace) + "” on Bursar " + is + " on hold. " +
		"A limit or a rule became stricter after the request, or the request or approval came through a compromised API key. Nothing was sent."}
	return Message{
		To:      h.To,
		Subject: subject,
		Text:    paragraphs(append(append(text, named...), todo, h.Link)...),
		Button:  Button{Label: label, Link: h.Link},
	}
}
