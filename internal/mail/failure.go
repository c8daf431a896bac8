package mail

import (
	"errors"
	"fmt"
	"net/textproto"
	"regexp"

	gomail "github.com/wneessen/go-mail"
)

// failure is the loggable part of a failed attempt.
type failure struct {
	permanent bool
	reason    string
}

var enhancedCode = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// explain leaves out the text of a server's response, because servers quote the recipient
// and filters quote links. The status codes are enough.
func explain(err error) failure {
	var sending *gomail.SendError
	if errors.As(err, &sending) {
		if code := sending.ErrorCode(); code != 0 {
			return refusal(code, sending.EnhancedStatusCode(), sending.Reason.String())
		}
		switch sending.Reason {
		case gomail.ErrGetSender, gomail.ErrGetRcpts, gomail.ErrNoUnencoded:
			return failure{permanent: true, reason: sending.Reason.String()}
		}
		return failure{reason: "the connection broke while " + sending.Reason.String()}
	}
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return refusal(answer.Code, enhancedCode.FindString(answer.Msg), "connecting and signing in")
	}
	return failure{reason: err.Error()}
}

func refusal(code int, enhanced, doing string) failure {
	if enhanced != "" {
		enhanced = " " + enhanced
	}
	return failure{
		permanent: code >= 500,
		reason:    fmt.Sprintf("the mail server answered %d%s while %s", code, enhanced, doing),
	}
}
