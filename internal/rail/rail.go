// Package rail carries payments to banks and wallets.
//
// A rail is a payment network with its currency, limits and hours. A connector is how
// Bursar reaches one. Two connectors exist: internal/rail/simulator, which is a sandbox inside
// the program, and internal/rail/iso20022, which exchanges files with a bank through folders.
//
// # What a connector guarantees
//
// A payment is paid at most once, even if a node pauses, dies or repeats a call. The caller stores an attempt with its end-to-end id
// and submission before it calls Submit. If the outcome is unknown, it calls LookUp. It submits the same attempt again only if the answer
// is NotReceived, or if people have determined that it was not paid. The submission number is then the next one. Every connector therefore
// gives these guarantees, which internal/rail/railtest checks:
//
//   - Submit of a payment that the rail has received, as any submission, sends nothing. It answers for the one received.
//     The exception is a submission after Payment.NotPaid. It is sent, once, unless a submission after NotPaid was received or
//     the rail knows that it has paid an earlier one.
//   - NotReceived is final for that submission and all earlier ones. A Submit that arrives later, for example from a node that was
//     paused, sends nothing and answers Unknown. Submit and LookUp therefore exclude each other. Either Submit comes
//     first and LookUp finds the payment, or LookUp comes first and leaves a tombstone that Submit finds.
//   - Submit sends nothing once its context has ended, nor after Payment.SendBefore. Both are checked last, after
//     any wait, before the payment is sent.
//   - An error, a time-out or a crash leaves no doubt for the next call: the payment is found, or it is never sent.
//   - A duplicate that the rail refuses may have been paid: it is Unknown, or Rejected with a code whose Reason is a duplicate.
//   - Receive repeats a message until it is done. Each outcome names its payment and, if the rail identifies it, its submission, so
//     that messages may come in any order.
package rail

import (
	"context"
	"time"
)

// Payment is one attempt to pay a payee.
type Payment struct {
	// EndToEndID identifies the attempt permanently and at every bank: letters and digits, at most 35. It
	// is derived from the payout and the number of the attempt, and stays the same for each submission.
	EndToEndID string
	PayoutID   string
	Attempt    int // the first one is 1
	// Submission counts how often the attempt was submitted to the rail; the first one is 1. LookUp with 0 looks up any
	// submission after NotPaid and leaves no tombstone.
	Submission int
	// NotPaid is the highest submission that people have determined not to be paid; 0: none. A later submission is sent even if the
	// rail has received this one, and a look-up about a later submission is not answered with it.
	NotPaid     int
	WorkspaceID string
	AccountID   string
	// ExternalHash is a keyed hash of the workspace and the external id, "" if there is none. A connector that keeps a record stores it
	// there, so that a restored store recognizes the external id.
	ExternalHash string
	Amount       int64 // in the minor unit
	Currency     string
	To           Destination
	Description  string
	// At is when the attempt was stored, in Unix milliseconds. It is the same for every submission and
	// look-up, so connectors can find earlier submissions by it.
	At int64
	// ClaimedAt is when this submission was claimed.
	ClaimedAt int64
	// SendBefore is when the right to send this submission ends. 0: never.
	SendBefore int64
	// Since is when the payout was made. A restored store may have stored an attempt before, at another time: connectors search for its
	// end-to-end id from Since on. 0 is At.
	Since int64
}

// From returns the earliest time at which a connector may have received the payment.
func (p Payment) From() int64 {
	if p.Since == 0 {
		return p.At
	}
	return min(p.At, p.Since)
}

// Latest returns the time of this submission. It is never earlier than From, even if the clocks of two nodes differ.
func (p Payment) Latest() int64 { return max(p.At, p.ClaimedAt) }

// Expired reports whether the right to send the payment has ended.
func (p Payment) Expired(now time.Time) bool {
	return p.SendBefore != 0 && now.UnixMilli() >= p.SendBefore
}

// Destination is where a payment goes.
type Destination struct {
	Institution   string // its code in internal/institution
	AccountNumber string
	AccountName   string
}

// State is the state of a payment at a rail.
type State string

// The states of a payment at a rail.
const (
	// Unknown: no answer; the payment may have been sent.
	Unknown State = "unknown"
	// Accepted: the rail has the payment and has not decided.
	Accepted State = "accepted"
	// Completed: the payee has the money.
	Completed State = "completed"
	// Rejected: the rail has refused the payment, and nothing was paid.
	Rejected State = "rejected"
	// NotReceived: no submission up to that of the payment has arrived, nor will it arrive later. The attempt may be
	// submitted again with a higher number. Only LookUp answers this.
	NotReceived State = "not_received"
)

// Outcome is a rail's answer about a payment.
type Outcome struct {
	State     State
	Code      string // a reason of ISO 20022, such as AC04
	Text      string // the rail's own message
	Reference string // the rail's own id
	// Submission is the submission that the answer is about; 0 if the rail does not identify it. With NotReceived, it is the highest one
	// that a look-up has found missing.
	Submission int
}

// NoticeKind is what a notice of a rail is about.
type NoticeKind string

// The kinds of notices.
const (
	// Decided reports the outcome of a payment.
	Decided NoticeKind = "decided"
	// Returned reports that a completed payment was returned.
	Returned NoticeKind = "returned"
	// Settled reports that the bank has debited a payment from our account with it.
	Settled NoticeKind = "settled"
	// Deposited reports money received for an account.
	Deposited NoticeKind = "deposited"
	// Unmatched is any other movement of money at the bank. It goes to suspense.
	Unmatched NoticeKind = "unmatched"
)

// Notice is a report of a rail that no call requested.
type Notice struct {
	// MessageID and EntryID identify the notice at its connector, so that it is processed once.
	MessageID string
	EntryID   string
	Kind      NoticeKind
	// EndToEndID is the payment that the notice is about, if it names one. A connector passes on what the bank wrote. If the caller does
	// not know the payment, the notice is treated as Unmatched.
	EndToEndID string
	Outcome    Outcome
	// Movement names this movement, by a kind of reference, a space and the reference; "" if the bank gives none. If two movements of one
	// payment have references of the same kind that differ, they are two movements.
	Movement string
	// AccountID is the account that a deposit is for; "" if it names none.
	AccountID string
	Amount    int64 // in the minor unit; negative if money left
	Currency  string
	Booked    bool // false while the bank only announces it
	Text      string
}

// Message is what was received at once, such as a file. Its notices are processed in one transaction or in several, and then it is done.
type Message struct {
	ID      string
	Notices []Notice
	// Left is how many notices could not be processed, for Done.
	Left int
}

// Connector reaches rails. Its methods can be called concurrently.
type Connector interface {
	// Name returns the name of the connector, such as "simulator".
	Name() string
	// Sandbox reports whether no real money moves.
	Sandbox() bool
	// Check returns a fault if a payment cannot be sent by a rail, otherwise nil. It is called before the payment is sent.
	Check(r *Rail, p Payment) error
	// Submit sends payments, in the order given, and answers for each. After an error, the outcome of
	// all of them is unknown.
	Submit(ctx context.Context, r *Rail, list []Payment) ([]Outcome, error)
	// LookUp returns the known outcomes of payments.
	LookUp(ctx context.Context, r *Rail, list []Payment) ([]Outcome, error)
	// Receive returns received messages that are not done. It does not wait for any.
	Receive(ctx context.Context) ([]Message, error)
	// Done reports to the connector that these notices of a message are stored. As long as some are left, Receive returns the message
	// again, at least with those.
	Done(ctx context.Context, m Message) error
	// Health returns the status of the connector, one of Up, Degraded and Down, and the reason.
	Health(ctx context.Context) (Status, string)
}

// Recorder is a connector that keeps the record of what it has sent outside the store, for example in a folder. The caller compares it with
// the store, and stops sending if they do not agree.
type Recorder interface {
	// Identity returns the random identity of the record, or "" if it has none.
	Identity(ctx context.Context) (string, error)
	// Identify gives the record an identity if it has none, and calls remember with it before any other node can.
	Identify(ctx context.Context, remember func(identity string) error) error
	// Recorded calls yield with each payment in the record that was sent at or after a time, once for each submission.
	Recorded(ctx context.Context, since int64, yield func(p Recorded) error) error
	// Trust names the record that belongs to the store. With another one the connector sends nothing, and does not answer
	// NotReceived. It compares them under the lock under which it sends.
	Trust(identity string)
	// Hold stops sending for a reason, and resumes it without one. While it holds, the connector is down, and a look-up
	// that does not find a payment is answered with Unknown.
	Hold(reason string)
}

// Recorded is a payment in the record of a connector.
type Recorded struct {
	EndToEndID   string
	Submission   int
	Amount       int64 // in the minor unit
	Currency     string
	AccountID    string
	Rail         string
	ExternalHash string
	At           int64 // when its message was made, to the second
}

// Status is the status of a rail, a connector or an institution.
type Status string

// The states of health.
const (
	Up       Status = "up"
	Degraded Status = "degraded"
	Down     Status = "down"
)

// Rail is a payment network.
type Rail struct {
	Name      string
	Title     string // for people, such as InstaPay
	Currency  string
	Minimum   int64 // both included, in the minor unit
	Maximum   int64 // 0 is none
	Connector Connector
	// Hours are the times at which it sends; nil is always.
	Hours *Hours
	// AnswerWithin is how long the rail may take to decide about a payment. 0: a quarter of an hour if it always sends, and
	// until the end of the business day otherwise.
	AnswerWithin time.Duration
	// Members is the letter that marks the members of the rail in the table of institutions.
	Members string
	// Codes are the institutions that the rail reaches and their codes there, if a file lists them; then Members does not count.
	Codes map[string]string
}

// Sandbox reports whether no real money moves on the rail.
func (r *Rail) Sandbox() bool { return r.Connector.Sandbox() }

// AnswerBy returns when a payment sent at a given time must be decided.
func (r *Rail) AnswerBy(sent time.Time) time.Time {
	switch {
	case r.AnswerWithin > 0:
		return sent.Add(r.AnswerWithin)
	case r.Hours != nil:
		return r.Hours.EndOfDay(sent)
	}
	return sent.Add(15 * time.Minute)
}

// Next returns when a payment that is ready at a time is sent, and when it is expected to
// arrive.
func (r *Rail) Next(at time.Time) (send, arrive time.Time) {
	if r.Hours == nil {
		return at, at
	}
	return r.Hours.Next(at)
}
