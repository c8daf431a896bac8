package db

import (
	"bursar/api"
	"bursar/internal/db/engine"
)

// MatchKey returns the parameter for what an entry is found by: its e-mail address or its phone
// number; NULL if it has none.
func MatchKey(kind string, fields api.Fields) any { return NullText(engine.MatchKey(kind, fields)) }
