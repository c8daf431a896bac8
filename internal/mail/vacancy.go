package mail

import "time"

// Vacancy is the mail to approvers and owners when a workspace has lost its last second person, or when one person has granted
// something since.
type Vacancy struct {
	To                      string
	Workspace, Organization string
	Until                   time.Time // changes need a second person until then
	GrantedBy, Granted      string    // what was granted, if anything
	Appointed               string    // the person whom the operator of the server has made an approver, if any
	Link                    string    // where the time can be extended
}

// Message returns the mail.
func (v Vacancy) Message() Message {
	workspace := "the workspace “" + plainName(v.Workspace) + "” of “" + plainName(v.Organization) + "” on Bursar"
	subject := "A workspace has no second person to approve"
	what := "The last person besides those who request changes can no longer approve in " + workspace + "."
	rest := "Until " + moment(v.Until) + " changes need a second person all the same. After that, one person can make them alone."
	if v.Granted != "" {
		subject = "An approver was added without a second person"
		what = plainName(v.GrantedBy) + " has granted " + plainName(v.Granted) + " in " + workspace + ", where no one else could agree."
		rest = "It does not count before " + moment(v.Until) + "."
	}
	if v.Appointed != "" {
		subject = "The operator has appointed an approver"
		what = "The operator of this server has made " + plainName(v.Appointed) + " an approver in " + workspace + "."
		rest = "Their approvals count once the wait of a new approver is over. If you did not expect this, ask the operator."
		return Message{To: v.To, Subject: subject, Text: paragraphs("Hello,", what, rest, v.Link), Button: Button{Label: "Open the workspace", Link: v.Link}}
	}
	return Message{
		To:      v.To,
		Subject: subject,
		Text: paragraphs(
			"Hello,",
			what,
			rest,
			"If you expected this, there is nothing to do. If not, extend the time by 72 hours. Approvers and owners of the organization can do that, once:",
			v.Link,
			"If you no longer have access, ask an owner of the organization.",
		),
		Button: Button{Label: "Open the workspace", Link: v.Link},
	}
}
