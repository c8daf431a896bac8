package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"bursar/api"
	"bursar/client"
	"bursar/internal/fault"
)

// hintedError is an error with a hint for the user.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

func withHint(err error, hint string) error { return hintedError{err, hint} }

// explain returns a message: what failed, why, and what to do next.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	var refused *client.Error
	if errors.As(err, &refused) {
		return explainRefusal(err, refused)
	}
	// Errors of the client begin with the package name. A file may be called monday.bursar.
	text := strings.ReplaceAll(strings.TrimPrefix(plainText(err), "bursar: "), ": bursar: ", ": ")
	var hinted hintedError
	var network *net.OpError
	switch {
	case errors.As(err, &hinted):
		text += "\n" + hinted.hint
	case errors.As(err, &network): // errors of the store have their own hint
		text += "\nIs the server running, and is its address right? 'bursar context list' shows the servers you use."
	}
	return text
}

// explainRefusal explains an error response of the API.
func explainRefusal(err error, refused *client.Error) string {
	text := strings.TrimSuffix(err.Error(), refused.Error())
	text += refused.Message
	for _, field := range refused.Fields() {
		if !strings.Contains(refused.Message, field.Field+" "+field.Constraint) {
			text += "\n  " + field.Field + " " + field.Constraint
		}
	}
	next := nextStep(refused)
	var hinted hintedError
	if errors.As(err, &hinted) {
		next = hinted.hint
	}
	if next != "" {
		text += "\n" + next
	}
	if refused.RequestID != "" {
		text += "\nRequest id: " + refused.RequestID
	}
	return text
}

func nextStep(e *client.Error) string {
	switch {
	case client.IsUnauthorized(e):
		return "Your session has ended or your key is no longer valid: run 'bursar login'."
	case e.Code == api.CodeRecentLoginRequired:
		return "Run 'bursar login', then try again."
	case e.Code == api.CodeSecondFactorRequired:
		return "Sign in at the console with a passkey, with a code or with single sign-on, run 'bursar login', then try again."
	case e.Code == api.CodeSecondPersonRequired:
		return "'bursar approvals list' shows the request."
	case e.Permission() == "administer":
		return "Run 'bursar login', or use an API key that was made with --administer."
	case e.Permission() != "":
		return "You need the permission " + e.Permission() + ": ask an admin of the workspace for a role that includes it."
	case e.Status == http.StatusTooManyRequests:
		return "Wait a moment and try again."
	case e.Status >= http.StatusInternalServerError:
		return "The server failed. Try again; if it keeps failing, give the request id to your administrator."
	}
	return ""
}

// plainText returns the message of an error without its code.
func plainText(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}
