package api

// AuditProof proves that a row is in an audit log, to anyone who has the public key of the log. `bursar audit prove` writes it and `bursar
// audit verify` reads it.
type AuditProof struct {
	Format     string            `json:"format"`
	Checkpoint string            `json:"checkpoint"` // signed by the operator
	Stream     AuditProofStream  `json:"stream"`
	Index      int64             `json:"index"`  // index of the row's leaf in the tree
	Hashes     [][]byte          `json:"hashes"` // from the leaf to the root (RFC 6962)
	Since      *AuditConsistency `json:"since,omitempty"`
	Row        AuditProofRow     `json:"row"`
}

// AuditProofStream is the log of a workspace, of an organization, or of the operator.
type AuditProofStream struct {
	Number  int64  `json:"number"`
	Name    string `json:"name"`
	Tag     string `json:"tag"`     // identifies the stream in its leaves; hexadecimal
	Opening []byte `json:"opening"` // proves that the tag belongs to this name
}

// AuditConsistency proves that a tree is an extension of an older one.
type AuditConsistency struct {
	Size   int64    `json:"size"` // of the older tree
	Hashes [][]byte `json:"hashes"`
}

// AuditProofRow is a row of the audit log in its stored form, which is what is proven.
type AuditProofRow struct {
	Stream   int64  `json:"stream"`
	Seq      int64  `json:"seq"`
	ID       string `json:"id"`
	Entry    string `json:"entry"`
	Personal string `json:"personal,omitempty"`
	Salt     []byte `json:"salt,omitempty"`
	Erased   []byte `json:"erased,omitempty"` // replaces the last two fields once they are erased
}
