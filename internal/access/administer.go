package access

import (
	"bursar/internal/audit"
	"bursar/internal/fault"
)

// administer is what a key's scope must have, as the answer to a caller names it.
const administer = "administer"

// RequireAdministration returns an error unless the caller may make what outlives their credential: owners, security settings, further
// credentials, and roles that decide over people or money. A person must have signed in a moment ago; the scope of a key or of a
// machine client must include that it administers.
func RequireAdministration(by audit.Actor, now int64) error {
	switch {
	case by.Type == audit.System:
		return nil
	case by.Type == audit.User && by.KeyID == "":
		return RequireRecentLogin(by, now)
	case by.Scope.Administer:
		return nil
	}
	return errAdminister(fault.Scope{})
}

func errAdminister(scope fault.Scope) error {
	f := fault.Denied(administer, scope)
	f.Message = "this needs a credential that administers: sign in at the console or with bursar login, or use an API key that was made with administer"
	return f
}

// Decisive are the permissions that decide over people or money. A grant of a role with one of them needs administration.
func Decisive() Set {
	return SetOf(MembersWrite, RolesWrite, KeysWrite, WSWrite, ReceivingWrite, ReceivingApprove, PayoutsCreate, PayoutsApprove, AccountsWrite)
}

// RequireAdministrationToGrant is RequireAdministration for a grant that includes one of the decisive permissions. Other grants need
// none: a viewer or a member decides over nothing.
func RequireAdministrationToGrant(by audit.Actor, now int64, given Set) error {
	if given&Decisive() == 0 {
		return nil
	}
	return RequireAdministration(by, now)
}
