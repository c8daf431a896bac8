package audit

import (
	"slices"
	"sync"
)

// defined maps each action to its definition.
var defined = sync.OnceValue(func() map[Action]definition {
	all := map[Action]definition{}
	for _, d := range definitions() {
		all[d.action] = d
	}
	return all
})

// Actions lists all actions in the order in which the console shows them.
func Actions() []Action {
	var all []Action
	for _, d := range definitions() {
		all = append(all, d.action)
	}
	return all
}

// ResourceTypes lists the kinds of things that actions change, in the order of Actions.
func ResourceTypes() []ResourceType {
	var all []ResourceType
	for _, d := range definitions() {
		if d.resource != "" && !slices.Contains(all, d.resource) {
			all = append(all, d.resource)
		}
	}
	return all
}

// Resource returns the kind of thing that the action changes. A refused request and a failed login change nothing, so they have none.
func (a Action) Resource() ResourceType { return defined()[a].resource }

// Title returns a description of the action, such as "Added member". For an unknown action it returns the action's name.
func (a Action) Title() string {
	if d, ok := defined()[a]; ok {
		return d.title
	}
	return string(a)
}

func (a Action) changesAccess() bool { return defined()[a].changesAccess }
