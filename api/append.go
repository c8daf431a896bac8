package api

// AppendJSON appends the user as JSON. Who am I is asked more often than anything
// else, and the whole request takes 1.10 times the CPU time with an encoder.
func (u User) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), u.ID)
	dst = AppendString(append(dst, `,"email":`...), u.Email)
	dst = AppendString(append(dst, `,"name":`...), u.Name)
	return append(dst, '}')
}
