package console

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"bursar/api"
)

// shownChange is a change of an audit entry, for display.
type shownChange struct {
	Caption       string // label of the field
	Name          string // name of the field in the API, unless it equals the label
	Before, After changedValue
}

// changedValue is the value of a field before or after a change.
type changedValue struct {
	shownField
	Time string        // if the value is one
	Cut  *api.CutValue // if the value was too long
}

// Length returns the length of a value that was too long.
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

// changeCaption returns the label of a changed field.
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
