package auditlog

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"bursar/internal/auditlog/tree"
	"bursar/internal/db"
)

// Verify proves a row and verifies the proof, as an outside verifier would. It reports whether the
// stored row matches what was signed. A user who does not trust this server verifies elsewhere.
func (s *Service) Verify(ctx context.Context, by db.Caller, in ProofInput) (tree.Report, error) {
	proof, err := s.Proof(ctx, by, in)
	if err != nil {
		return tree.Report{}, err
	}
	text, err := json.Marshal(proof)
	if err != nil {
		return tree.Report{}, fmt.Errorf("write the proof of a row: %w", err)
	}
	return tree.VerifyProof(text, tree.Trust{Key: s.signer.key.Verifier()})
}
