// Package audit names who acts and what they do. It is pure: the rows are
// written by package db, in the transaction of the mutation they speak of.
package audit

// Outcome says how an attempt ended.
type Outcome string

const (
	Success Outcome = "success"
	Denied  Outcome = "denied"
	Failure Outcome = "failure"
)

// ActorType says by what means somebody acts.
type ActorType string

const (
	User   ActorType = "user"
	APIKey ActorType = "api_key"
	Client ActorType = "client"
	System ActorType = "system"
)

// Actor is whoever causes something. ID is the user's or client's, whatever the
// credential was, so that one filter finds all that a person did.
type Actor struct {
	Type      ActorType
	ID        string
	Name      string
	Email     string
	HomeOrgID string // where what belongs to no workspace is filed
	SessionID string
	KeyID     string
	RequestID string
	IP        string
}

// SystemActor acts for an operator at the command line or for the server itself.
func SystemActor(name string) Actor { return Actor{Type: System, Name: name} }

// Event is what a mutation tells about itself.
type Event struct {
	Action         Action
	Outcome        Outcome
	Description    string
	WorkspaceID    string
	OrganizationID string
	ResourceID     string

	// Actor replaces the one that the mutation runs as, where it is only known
	// once the mutation has looked: a key exchange has no caller before.
	Actor *Actor

	exempt string
}

// None is the event of a change that leaves no row; why says so. The places
// that may use it are pinned by a test.
func None(why string) Event { return Event{exempt: why} }

// Exempt says why there is no row; empty where there is one.
func (e Event) Exempt() string { return e.exempt }

// Empty says that a mutation forgot to tell what it did.
func (e Event) Empty() bool { return e.Action == "" && e.exempt == "" }

// ChangesAccess says whether what is remembered about sessions, memberships
// and roles may be out of date once the event is committed.
func (e Event) ChangesAccess() bool {
	if e.Outcome != "" && e.Outcome != Success {
		return false
	}
	return e.Action.changesAccess()
}
