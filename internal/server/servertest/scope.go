package servertest

// Lacks fails the test unless the caller was refused for lacking a permission.
func (a *Answer) Lacks(permission string) {
	a.t.Helper()
	a.Fails(403, "FORBIDDEN")
	if got := a.Detail("permission"); got != permission {
		a.t.Errorf("the missing permission is %q, want %q: %s", got, permission, a.Body)
	}
}
