package console

import (
	"errors"
	"strconv"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/fault"
)

// auditProof is the newest checkpoint of the audit log.
type auditProof struct {
	Checkpoint string // empty if there is none
	At         int64  // time of the checkpoint
	Why        string // reason if there is none
}

func (c *Console) auditProof(v *visit) (auditProof, error) {
	signer := c.Audit.Signer()
	text, err := signer.Checkpoint(v.R.Context())
	var broken *auditlog.BrokenError
	switch {
	case signer.Key() == nil:
		return auditProof{Why: "This server does not sign the audit log, so nothing of it can be proven here."}, nil
	case errors.Is(err, auditlog.ErrUnsigned):
		return auditProof{Why: "Nothing of the audit log is signed yet."}, nil
	case errors.As(err, &broken):
		return auditProof{Why: "The audit log is not signed at present. The operator's log says why."}, nil
	case err != nil:
		return auditProof{}, err
	}
	newest, err := signer.Newest(v.R.Context())
	return auditProof{Checkpoint: string(text), At: newest.At}, err
}

// verification is the result of verifying a row.
type verification struct {
	Kind  string // the style of the notice
	Title string
	Text  string
}

// verify verifies a row of the log of a workspace or an organization.
func (c *Console) verify(v *visit, of auditlog.Filters, row api.AuditEntry) (*verification, error) {
	log := auditlog.ProofFileInput{WorkspaceID: of.WorkspaceID, OrganizationID: of.OrganizationID}
	report, err := read(v, c.Audit.Verify, auditlog.ProofInput{ID: row.ID, ProofFileInput: log})
	var f *fault.Fault
	switch {
	case errors.As(err, &f) && f.Code == api.CodeUnavailable:
		return &verification{"warn", "Not yet sequenced.", "The newest rows are signed within seconds. Try again in a moment."}, nil
	case errors.As(err, &f) && f.Code == api.CodeAuditUnsigned:
		return &verification{"warn", "Can't be verified.", capitalized(f.Message) + "."}, nil
	case err != nil:
		return nil, err
	case len(report.Failures) == 0:
		return &verification{"good", "Verified.", "The row is in the log exactly as it was written, at place " + strconv.FormatInt(row.Seq, 10) + ". The signed log has " + amount(int(report.Checkpoint.Size), false) + " leaves."}, nil
	case row.Erased:
		return &verification{"warn", "Erased.", capitalized(report.Failures[0].Why) + "."}, nil
	}
	failure := report.Failures[0]
	return &verification{"bad", "Failed: " + string(failure.Kind) + ".", capitalized(failure.Why) + "."}, nil
}
