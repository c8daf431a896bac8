package console

import (
	"cmp"

	"bursar/internal/identity"
)

// methodName returns a sign-in method in words.
func methodName(m identity.Method) string {
	return cmp.Or(map[identity.Method]string{
		identity.ByAPIKey:       "API key",
		identity.ByClientSecret: "Client secret",
		identity.ByDevice:       "Device code",
		identity.ByPassword:     "Password",
		identity.ByTwoFactors:   "Password and code",
		identity.ByPasskey:      "Passkey",
		identity.BySSO:          "Single sign-on",
		identity.ByLink:         "Link",
	}[m], "Unknown")
}
