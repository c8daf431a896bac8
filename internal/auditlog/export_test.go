package auditlog

// EncodedID lets tests call encodedID.
func EncodedID(row []byte) []byte { return encodedID(row) }
