package console

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"bursar/api"
)

// shownChange is a change that an audit entry tells of, as pages show it.
type shownChange struct {
	Caption       string // of the field
	Name          string // of the field, as the API has it, unless the caption is the same
	Before, After changedValue
}

// changedValue is the value of a field before or after a change.
type changedValue struct {
	shownField
	Time string        // if the value is one
	Cut  *api.CutValue // if the value was too long
}

// Length is how long a value was that was too long.
func (c changedValue) Length() string { return amount(c.Cut.Length, false) + " bytes" }

func shownChanges(changes []api.AuditChange, zone *time.Location) []shownChange {
	var list []shownChange
	for _, c := range changes {
		value := func(v json.RawMessage) changedValue {
			shown := changedValue{shownField: shownField{api.Field{Key: c.Field, Value: v}}}
			if cut, ok := c.Cut(v); ok {
				shown.Cut = &cut
			}
			if at, err := strconv.ParseInt(string(v), 10, 64); err == nil && at > 0 && strings.HasSuffix(c.Field, "_at") {
				shown.Time = time.UnixMilli(at).In(zone).Format(secondFormat)
			}
			return shown
		}
		one := shownChange{changeCaption(c.Field), c.Field, value(c.Before), value(c.After)}
		if one.Caption == capitalized(c.Field) {
			one.Name = ""
		}
		list = append(list, one)
	}
	return list
}

// changeCaption is the name of a changed field for people.
func changeCaption(name string) string {
	if key, ok := strings.CutPrefix(name, "fields."); ok {
		return caption(key)
	}
	switch name {
	case "account_id":
		return "Account number"
	case "provider":
		return "Bank or wallet"
	case "end_to_end_id":
		return "End-to-end ID"
	}
	words := capitalized(name)
	if thing, ok := strings.CutSuffix(words, " id"); ok {
		return thing + " ID"
	}
	return words
}
