package console

import (
	"slices"
	"strings"

	"bursar/internal/audit"
)

// actionChoices lists the actions as filter options, in groups.
func actionChoices() (groups []choice) {
	for _, action := range audit.Actions() {
		label := areaText(string(action))
		at := slices.IndexFunc(groups, func(g choice) bool { return g.Text == label })
		if at < 0 {
			at, groups = len(groups), append(groups, choice{Text: label})
		}
		groups[at].Group = append(groups[at].Group, choice{Value: string(action), Text: action.Title()})
	}
	return groups
}

// areaText returns the group of an action in the filter, based on the first part of its name.
func areaText(action string) string {
	area, _, _ := strings.Cut(action, ".")
	switch area {
	case "directory":
		return "Directory"
	case "money", "payout", "rail":
		return "Money"
	case "iam", "ops":
		return "People and roles"
	case "auth":
		return "Sign-in and keys"
	}
	return "Audit log"
}

// withSpaces replaces the underscores of a name by spaces.
func withSpaces(name string) string { return strings.ReplaceAll(name, "_", " ") }

// capitalized returns a name in words, with a capital first letter.
func capitalized(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + withSpaces(name[1:])
}

// resourceChoices lists the types of resources as filter options.
func resourceChoices() (list []choice) {
	for _, kind := range audit.ResourceTypes() {
		list = append(list, choice{Value: string(kind), Text: resourceWords(string(kind))})
	}
	return list
}

func resourceWords(kind string) string {
	switch audit.ResourceType(kind) {
	case audit.Key:
		return "API key"
	case audit.ClientResource:
		return "Machine client"
	case audit.Log:
		return "Audit log"
	case audit.PayoutRequest:
		return "Payout"
	case audit.PayoutBatch:
		return "Batch of payouts"
	case audit.RailService:
		return "Rail or bank"
	}
	return capitalized(kind)
}

// actorTypeText returns the type of an actor in words.
func actorTypeText(kind string) string {
	switch audit.ActorType(kind) {
	case audit.APIKey:
		return "API key"
	case audit.Client:
		return "Machine client"
	}
	return capitalized(kind)
}

// outcomeText returns an outcome in words.
func outcomeText(outcome string) string {
	if outcome == string(audit.Failure) {
		return "Failed"
	}
	return capitalized(outcome)
}
