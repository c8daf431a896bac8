package console

import (
	"slices"
	"strings"

	"bursar/internal/audit"
)

// choice is an option of a filter.
type choice struct {
	Value, Text string
	Chosen      bool
}

// choiceGroup is a group of options with a label.
type choiceGroup struct {
	Label   string
	Choices []choice
}

// actionChoices lists the actions as filter options. An unknown action in the URL
// is added, so that the filter stays visible.
func actionChoices(chosen string) []choiceGroup {
	var groups []choiceGroup
	known := false
	for _, action := range audit.Actions() {
		label := areaText(string(action))
		at := slices.IndexFunc(groups, func(g choiceGroup) bool { return g.Label == label })
		if at < 0 {
			at, groups = len(groups), append(groups, choiceGroup{Label: label})
		}
		groups[at].Choices = append(groups[at].Choices, choice{string(action), action.Title(), string(action) == chosen})
		known = known || string(action) == chosen
	}
	if chosen != "" && !known {
		groups = append(groups, choiceGroup{"Other", []choice{{chosen, chosen, true}}})
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
func resourceChoices(chosen string) []choice {
	var list []choice
	known := chosen == ""
	for _, kind := range audit.ResourceTypes() {
		list = append(list, choice{string(kind), resourceWords(string(kind)), string(kind) == chosen})
		known = known || string(kind) == chosen
	}
	if !known {
		list = append(list, choice{chosen, chosen, true})
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

func outcomeChoices(chosen string) []choice {
	list := []choice{}
	known := chosen == ""
	for _, outcome := range []audit.Outcome{audit.Success, audit.Denied, audit.Failure} {
		list = append(list, choice{string(outcome), outcomeText(string(outcome)), string(outcome) == chosen})
		known = known || string(outcome) == chosen
	}
	if !known {
		list = append(list, choice{chosen, chosen, true})
	}
	return list
}
