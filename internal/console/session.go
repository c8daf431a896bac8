package console

import (
	"strings"

	"bursar/internal/identity"
)

// methodName says how somebody signed in.
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

// programName is the part of a User-Agent header that people recognize.
func programName(agent string) string {
	system := ""
	for _, known := range [][2]string{{"Windows", "Windows"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}} {
		if strings.Contains(agent, known[0]) {
			system = " on " + known[1]
			break
		}
	}
	for _, known := range [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(agent, known[0]) {
			return known[1] + system
		}
	}
	name, _, _ := strings.Cut(agent, " ")
	return name
}
