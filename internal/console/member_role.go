package console

import "bursar/internal/access"

// roleSummary describes in a sentence what a role allows.
func roleSummary(key string, builtIn bool, held access.Set) string {
	if text := builtInSummary(key); builtIn && text != "" {
		return text
	}
	if text := describe(held); text != "" {
		return text + "."
	}
	return "Allows nothing."
}

func builtInSummary(key string) string {
	return map[string]string{
		access.Admin:              "Full access, including members, roles, keys and settings.",
		"member":                  "Sees the directory with receiving methods, and adds and changes entries.",
		"viewer":                  "Sees the members and the directory, and changes nothing.",
		"directory_manager":       "Manages the directory: entries, tags and receiving methods.",
		"disbursement_manager":    "Sees the directory with receiving methods, and prepares payouts.",
		"disbursement_authorizer": "Sees the directory with receiving methods, and approves payouts.",
		"auditor":                 "Sees the members and the directory, and reads and exports the audit log.",
	}[key]
}
