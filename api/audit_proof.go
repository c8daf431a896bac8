package api

// AuditProof proves to somebody who has the public key of an audit log that a row is in it.
// It is what `bursar audit prove` writes and `bursar audit verify` reads.
type AuditProof struct {
	Format     string            `json:"format"`
	Checkpoint string            `json:"checkpoint"` // what the operator has signed
	Stream     AuditProofStream  `json:"stream"`
	Index      int64             `json:"index"`  // which leaf of the tree the row is
	Hashes     [][]byte          `json:"hashes"` // from the leaf to the root (RFC 6962)
	Since      *AuditConsistency `json:"since,omitempty"`
	Row        AuditProofRow     `json:"row"`
}

// AuditProofStream is the log of a workspace, of an organization, or of the operator.
type AuditProofStream struct {
	Number  int64  `json:"number"`
	Name    string `json:"name"`
	Tag     string `json:"tag"`     // names the stream in its leaves, hexadecimal
	Opening []byte `json:"opening"` // shows that the tag is that of this name
}

// AuditConsistency shows that a tree begins with an older one.
type AuditConsistency struct {
	Size   int64    `json:"size"` // of the older tree
	Hashes [][]byte `json:"hashes"`
}

// AuditProofRow is a row of the audit log as the store keeps it, which is what is proven.
type AuditProofRow struct {
	Stream   int64  `json:"stream"`
	Seq      int64  `json:"seq"`
	ID       string `json:"id"`
	Entry    string `json:"entry"`
	Personal string `json:"personal,omitempty"`
	Salt     []byte `json:"salt,omitempty"`
	Erased   []byte `json:"erased,omitempty"` // stands for the last two once they are erased
}
