// Package audit defines what an audit row says: who acts, what they do and how it ended,
// and the form in which the store keeps it. Package db writes the rows, each in the
// transaction of the mutation that it describes.
package audit

import "slices"

// Outcome says how an attempt ended.
type Outcome string

const (
	Success Outcome = "success"
	Denied  Outcome = "denied"
	Failure Outcome = "failure"
)

// ActorType says how an actor has authenticated.
type ActorType string

const (
	User   ActorType = "user"
	APIKey ActorType = "api_key"
	Client ActorType = "client"
	System ActorType = "system"
)

// Actor is who causes an event. ID is that of the user or the client, whatever the
// credential was, so that one filter finds everything that a person did.
type Actor struct {
	Type      ActorType
	ID        string
	Name      string
	Email     string
	HomeOrgID string // the organization whose log gets events that belong to no workspace
	SessionID string
	KeyID     string // the API key that the session depends on
	Scope     Scope  // of the credential
	// LoggedInAt is when a person began the session by signing in, in a browser or for a
	// command line; 0 for sessions of keys and machine clients.
	LoggedInAt int64
	ByDevice   bool // the session began with a device code
	// OneFactor means that a person began the session without a second factor, or with a key
	// that was made without the one that an organization demanded. NeedsFactor means that one
	// of their organizations demands one.
	OneFactor   bool
	NeedsFactor bool
	// Epoch is the state of everybody's access at which the caller was authenticated, as
	// db.Epoch counts it.
	Epoch     uint64
	RequestID string
	IP        string
	Agent     string // the caller's program, as its User-Agent header names it
}

// SystemActor returns the actor for what an operator does at the command line, or the
// server by itself.
func SystemActor(name string) Actor { return Actor{Type: System, Name: name} }

// Event describes a mutation, or an attempt that was refused.
type Event struct {
	Action         Action
	Outcome        Outcome
	Description    string
	WorkspaceID    string
	OrganizationID string
	ResourceID     string
	Changes        Changes // what an update changed

	// Actor replaces the caller of the mutation. It is for mutations that find out
	// who acts, such as the exchange of an API key.
	Actor *Actor

	exempt string
	all    []Event
}

// None returns the event of a change that leaves no audit row, and the reason. A test
// lists the places that may use it.
func None(why string) Event { return Event{exempt: why} }

// All returns the event of a change that leaves several rows, such as of many lines of a file.
// It must be given at least one.
func All(events ...Event) Event { return Event{all: events} }

// Each returns the events that leave a row each: those that All was given, or the event itself.
func (e Event) Each() []Event {
	if e.all != nil {
		return e.all
	}
	return []Event{e}
}

// Exempt returns the reason for which there is no row, or "" if there is one.
func (e Event) Exempt() string { return e.exempt }

// Empty reports whether the mutation has neither an action nor a reason to have none.
func (e Event) Empty() bool { return e.Action == "" && e.exempt == "" && len(e.all) == 0 }

// ChangesAccess reports whether the event makes caches of sessions, memberships and
// roles stale.
func (e Event) ChangesAccess() bool {
	if e.all != nil {
		return slices.ContainsFunc(e.all, Event.ChangesAccess)
	}
	if e.Outcome != "" && e.Outcome != Success {
		return false
	}
	return e.Action.changesAccess()
}
