package mail

// OperatorChange is the mail that notifies approvers and owners that an operator has reset the sign-in of an approver.
type OperatorChange struct {
	To        string
	Workspace string
	Person    string
}

// Message returns the mail.
func (o OperatorChange) Message() Message {
	person, workspace := plainName(o.Person), plainName(o.Workspace)
	subject, what := "An operator has reset the sign-in of an approver", "An operator of this server has removed how "+person+" signs in and mailed them a link to set it up again."
	return Message{
		To:      o.To,
		Subject: subject,
		Text: paragraphs("Hello,",
			what+" They may approve in the workspace “"+workspace+"” on Bursar, and count as an approver after the waiting time of the workspace.",
			"If you know of no reason for this, remove them from the workspace and ask the operator."),
	}
}
