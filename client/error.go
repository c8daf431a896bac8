package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"bursar/api"
)

// Error is an error response of the server.
type Error struct {
	// Code is the machine-readable identifier, such as [api.CodeSlugTaken]. It is empty if the
	// answer did not come from Bursar but, for example, from a proxy.
	Code api.Code
	// Status is the HTTP status.
	Status int
	// Message is for logs.
	Message string
	// Details depend on the code: see Fields and Permission. They may be nil.
	Details json.RawMessage
	// RequestID names the request in the server's log and in the audit log.
	RequestID string
	// RetryAfter is how long the server asks to wait, or 0 if it does not.
	RetryAfter time.Duration

	stillRunning bool // the first request with this idempotency key is still running
}

// FieldError is one error in the parameters of a request.
type FieldError struct {
	Field      string `json:"field"`
	Constraint string `json:"constraint"`
}

// Error returns the code, the message, the status and the request id in one line.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("bursar: ")
	if e.Code != "" {
		text.WriteString(string(e.Code) + ": ")
	}
	fmt.Fprintf(&text, "%s (status %d", e.Message, e.Status)
	if e.RequestID != "" {
		text.WriteString(", request " + e.RequestID)
	}
	text.WriteString(")")
	return text.String()
}

// Fields lists all parameter errors of a request that was refused with [api.CodeValidation]. It is empty for other errors.
func (e *Error) Fields() []FieldError {
	var details struct {
		Fields []FieldError `json:"fields"`
	}
	if json.Unmarshal(e.Details, &details) != nil {
		return nil
	}
	return details.Fields
}

// Permission returns the missing permission of an error with [api.CodeForbidden], or "" if none
// is named.
func (e *Error) Permission() string {
	var details struct {
		Permission string `json:"permission"`
	}
	if json.Unmarshal(e.Details, &details) != nil {
		return ""
	}
	return details.Permission
}

// IsNotFound reports whether a resource does not exist or the caller may not see it.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsForbidden reports whether a permission is missing.
func IsForbidden(err error) bool { return hasStatus(err, http.StatusForbidden) }

// IsUnauthorized reports whether the credential is missing or no longer valid.
func IsUnauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// IsRateLimited reports whether there were too many requests.
func IsRateLimited(err error) bool { return hasStatus(err, http.StatusTooManyRequests) }

func hasStatus(err error, status int) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == status
}

// refusal returns the error of a response, or nil for a success.
func refusal(op *call, r *Response) error {
	var body struct {
		OK    bool `json:"ok"`
		Error *struct {
			Code    api.Code        `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		} `json:"error"`
	}
	bad := json.Unmarshal(r.Body, &body)
	good := r.Status >= 200 && r.Status < 300
	if good && (op.method == http.MethodHead || isFile(r) || (bad == nil && body.OK)) {
		return nil
	}
	wait, given := retryAfter(r.Header, time.Now())
	refused := &Error{Status: r.Status, RequestID: r.RequestID, RetryAfter: wait}
	if bad == nil && body.Error != nil && body.Error.Code != "" && !good {
		refused.Code, refused.Message, refused.Details = body.Error.Code, body.Error.Message, body.Error.Details
		refused.stillRunning = given
		return refused
	}
	refused.Message = foreign(r)
	return refused
}

// foreign describes a response that did not come from Bursar.
func foreign(r *Response) string {
	if to, err := url.Parse(r.Header.Get("Location")); err == nil && to.Host != "" && r.Status >= 300 && r.Status < 400 {
		return fmt.Sprintf("the server redirects to %s://%s, where the credential is not sent: check the base URL", to.Scheme, to.Host)
	}
	text := cmp.Or(http.StatusText(r.Status), "unknown status")
	if r.Status >= 200 && r.Status < 300 {
		text = "this is not an answer of Bursar: check the base URL"
	}
	if excerpt := excerpt(r); excerpt != "" {
		text += ": " + excerpt
	}
	return text
}

const maxExcerpt = 200

// excerpt returns the beginning of a text, or the title of an HTML page.
func excerpt(r *Response) string {
	text := strings.ToValidUTF8(string(r.Body[:min(len(r.Body), 16<<10)]), "\uFFFD")
	if strings.Contains(r.Header.Get("Content-Type"), "html") || strings.HasPrefix(strings.TrimSpace(text), "<") {
		title := regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`).FindStringSubmatch(text)
		if title == nil {
			return ""
		}
		text = html.UnescapeString(title[1])
	}
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	if len(text) > maxExcerpt {
		cut := maxExcerpt
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
