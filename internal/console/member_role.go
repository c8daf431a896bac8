package console

import (
	"strings"

	"bursar/api"
	"bursar/internal/access"
)

// roleSummary says in a sentence what a role allows.
func roleSummary(r api.Role) string {
	if text := builtInSummary(r.Key); r.BuiltIn && text != "" {
		return text
	}
	return permissionSummary(permissionSet(r.Permissions))
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

// permissionSummary lists permissions in words.
func permissionSummary(held access.Set) string {
	var texts []string
	for _, area := range permissionAreas() {
		for _, p := range area.Permissions {
			if held.Has(access.Permission(p.Key)) {
				texts = append(texts, p.Text)
			}
		}
	}
	if len(texts) == 0 {
		return "Allows nothing."
	}
	return strings.Join(texts, "; ") + "."
}
