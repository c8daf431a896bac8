package access

import (
	"bursar/internal/audit"
	"bursar/internal/fault"
)

// administer is the name in error responses of what a key's scope must include.
const administer = "administer"

// RequireAdministration returns an error unless the caller may create what outlives their credential. That is owners, security settings,
// further credentials, and roles that decide over people or money. A person must have signed in recently. The scope of a key or of a
// machine client must include administration.
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

// Decisive returns the permissions that decide over people or money. A grant of a role with one of them needs administration.
func Decisive() Set {
	return SetOf(MembersWrite, RolesWrite, KeysWrite, WSWrite, ReceivingWrite, ReceivingApprove, PayoutsCreate, PayoutsApprove, AccountsWrite)
}

// RequireAdministrationToGrant is RequireAdministration for a grant that includes one of the decisive permissions. Other grants, such as of
// a viewer or a member, need none.
func RequireAdministrationToGrant(by audit.Actor, now int64, given Set) error {
	if given&Decisive() == 0 {
		return nil
	}
	return RequireAdministration(by, now)
}
