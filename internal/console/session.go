package console

import "bursar/internal/identity"

// methodName returns a sign-in method in words.
func methodName(m identity.Method) string {
	switch m {
	case identity.ByAPIKey:
		return "API key"
	case identity.ByClientSecret:
		return "Client secret"
	case identity.ByDevice:
		return "Device code"
	case identity.ByPassword:
		return "Password"
	case identity.ByTwoFactors:
		return "Password and code"
	case identity.ByPasskey:
		return "Passkey"
	case identity.BySSO:
		return "Single sign-on"
	case identity.ByLink:
		return "Link"
	}
	return "Unknown"
}
