package console

import (
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
	groups := []choiceGroup{{Label: "Directory"}, {Label: "People and roles"}, {Label: "Sign-in and keys"}, {Label: "Audit log"}}
	place := map[string]int{"directory": 0, "iam": 1, "auth": 2, "audit": 3}
	known := false
	for _, action := range audit.Actions() {
		area, rest, _ := strings.Cut(string(action), ".")
		group := &groups[place[area]]
		group.Choices = append(group.Choices, choice{string(action), actionWords(rest), string(action) == chosen})
		known = known || string(action) == chosen
	}
	if chosen != "" && !known {
		groups = append(groups, choiceGroup{"Other", []choice{{chosen, chosen, true}}})
	}
	return groups
}

// actionWords says an action as people do, as in "Role assigned".
func actionWords(name string) string {
	text := strings.NewReplacer(".", " ", "_", " ").Replace(name)
	text = strings.Replace(text, "totp", "TOTP", 1)
	return strings.ToUpper(text[:1]) + text[1:]
}

// resourceTypes lists the resource types of audit entries.
func resourceTypes() []audit.ResourceType {
	return []audit.ResourceType{
		audit.DirectoryEntry, audit.DirectoryTag, audit.ReceivingMethod, audit.Member, audit.Role, audit.Workspace, audit.Organization,
		audit.UserAccount, audit.Session, audit.DeviceCode, audit.Key, audit.ClientAccount, audit.SigningKey, audit.Passkey, audit.Log,
	}
}

func resourceChoices(chosen string) []choice {
	var list []choice
	known := chosen == ""
	for _, kind := range resourceTypes() {
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
	case audit.ClientAccount:
		return "Machine client"
	case audit.Log:
		return "Audit log"
	}
	return actionWords(kind)
}

func outcomeChoices(chosen string) []choice {
	list := []choice{}
	known := chosen == ""
	for _, outcome := range []audit.Outcome{audit.Success, audit.Denied, audit.Failure} {
		list = append(list, choice{string(outcome), actionWords(string(outcome)), string(outcome) == chosen})
		known = known || string(outcome) == chosen
	}
	if !known {
		list = append(list, choice{chosen, chosen, true})
	}
	return list
}
