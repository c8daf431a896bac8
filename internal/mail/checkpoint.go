package mail

import "time"

// Checkpoint is the mail with the newest checkpoint of the audit log. It stores the
// checkpoint where the operators of the server cannot change it.
type Checkpoint struct {
	To   string
	Text string
	At   time.Time
}

// Message returns the mail.
func (c Checkpoint) Message() Message {
	return Message{
		To:      c.To,
		Subject: "The checkpoint of the Bursar audit log",
		Text: paragraphs(
			"Hello,",
			"this is the newest checkpoint of the audit log, of "+moment(c.At)+". Keep it where no one who runs the server can change it: with it, you can verify later whether the log was changed or cut off.",
			c.Text,
			"Save it from its first line to its last as audit.checkpoint and compare an export with it: bursar audit verify FILE.zip --key KEY --since audit.checkpoint",
		),
	}
}
