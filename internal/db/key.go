package db

import (
	"bursar/api"
	"bursar/internal/db/engine"
)

// MatchKey returns the parameter for the key by which an entry is found, its e-mail address or
// phone number; NULL if it has none.
func MatchKey(kind string, fields api.Fields) any { return NullText(engine.MatchKey(kind, fields)) }
