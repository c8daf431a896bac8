// Package audit defines the content of an audit row: the actor, the action and the
// outcome, and the format in which it is stored. Package db writes the rows, each in the
// transaction of the mutation that it describes.
package audit

import "slices"

// Outcome is the result of an attempt.
type Outcome string

const (
	Success Outcome = "success"
	Denied  Outcome = "denied"
	Failure Outcome = "failure"
)

// ActorType is how an actor has authenticated.
type ActorType string

const (
	User   ActorType = "user"
	APIKey ActorType = "api_key"
	Client ActorType = "client"
	System ActorType = "system"
)

// Actor is the user or client that causes an event. ID is that of the user or the client,
// whatever the credential was, so that one filter finds all actions of a person.
type Actor struct {
	Type      ActorType
	ID        string
	Name      string
	Email     string
	HomeOrgID string // the organization whose log gets events that belong to no workspace
	SessionID string
	KeyID     string // the API key that the session depends on
	// SecretHash is the hash of the secret with which a machine client authenticated a request. Such a request has no session.
	SecretHash string
	Scope      Scope // of the credential
	// LoggedInAt is when a person started the session by signing in, in a browser or for
	// a command line. It is 0 for sessions of keys and machine clients.
	LoggedInAt int64
	ByDevice   bool // the session began with a device code
	// OneFactor means that a person started the session without a second factor, or with a
	// key that was created without a required one. NeedsFactor means that one of their
	// organizations requires a second factor.
	OneFactor   bool
	NeedsFactor bool
	// Epoch is the value of db.Epoch when the caller was authenticated.
	Epoch     uint64
	RequestID string
	IP        string
	Agent     string // the caller's program, from its User-Agent header
}

// SystemActor returns the actor for actions of an operator at the command line, or of the server.
func SystemActor(name string) Actor { return Actor{Type: System, Name: name} }

// Event describes a mutation, or an attempt that was refused.
type Event struct {
	Action         Action
	Outcome        Outcome
	Description    string
	WorkspaceID    string
	OrganizationID string
	ResourceID     string
	Changes        Changes // the fields that an update changed

	// Actor replaces the caller of the mutation. It is for mutations that determine the
	// actor, such as the exchange of an API key.
	Actor *Actor

	exempt string
	all    []Event
}

// None returns the event of a change that leaves no audit row, and the reason. A test
// lists the places that may use it.
func None(why string) Event { return Event{exempt: why} }

// All returns the event of a change that leaves several rows, such as many lines of a file. It
// requires at least one event.
func All(events ...Event) Event { return Event{all: events} }

// And returns the event of a change that leaves further rows.
func (e Event) And(more ...Event) Event {
	if len(more) == 0 {
		return e
	}
	return All(append(slices.Clone(e.Each()), more...)...)
}

// Each returns the events that leave one row each: the events of All, or the event itself.
func (e Event) Each() []Event {
	if e.all != nil {
		return e.all
	}
	return []Event{e}
}

// Exempt returns why there is no row, or "" if there is one.
func (e Event) Exempt() string { return e.exempt }

// Empty reports whether the event has neither an action nor a reason to have none.
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
