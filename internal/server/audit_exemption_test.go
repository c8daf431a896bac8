package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A change that leaves no audit row is a decision, so the functions that make such a
// change are listed. Their reasons stand at the calls of audit.None.
func TestOnlyTheseFunctionsMayLeaveNoAuditRow(t *testing.T) {
	want := []string{
		"approval.Service.DecideMany",
		"approval.Service.Extend",
		"approval.Service.Notify",
		"approval.Service.TellVacancies",
		"approval.Service.expire",
		"approval.Service.updatePolicy",
		"auditlog.InitKey",
		"auditlog.Retention.batch",
		"auditlog.Sequencer.batch",
		"auditlog.Signer.adopt",
		"auditlog.Signer.post",
		"auditlog.treeBuilder.store",
		"budget.Budgets.Spend",
		"control.Service.ConfirmRule",
		"control.Service.RemoveRule",
		"control.changeLimit",
		"dbtest.Store.LooksEarlier",
		"directory.Service.Merge", "directory.Service.Purge",
		"directory.Service.Restore",
		"directory.Service.UndoMerge",
		"directory.Service.UpdateTag",
		"directory.Service.revealLines",
		"directory.Service.settleOne",
		"directory.Service.updateMethod",
		"directory.edit",
		"directory.revealed",
		"identity.Failures.Record",
		"identity.Service.Logout",
		"identity.Service.NewDeviceCode",
		"identity.Service.consume",
		"identity.Service.noteClient",
		"identity.Service.see",
		"identity.makeSecrets",
		"identity.revocation.events",
		"identity.setStatus",
		"ledger.Check.store",
		"ledger.Service.Update", "ledger.Service.askToUnfreeze",
		"mail.change",
		"operator.Add",
		"organization.Service.AddOwner",
		"payout.Acknowledge",
		"payout.AdoptRecord",
		"payout.ResumeRails",
		"payout.Sandbox.SetService", "payout.Sandbox.drive",
		"payout.Sending.ClearConflicts",
		"payout.Sending.Lease",
		"payout.Sending.StoreConflict",
		"payout.Sending.ToLookUp",
		"payout.Sending.claimDue",
		"payout.Sending.recalled",
		"payout.Sending.remember",
		"payout.Sending.whileStopped",
		"payout.Service.BatchFile", "payout.Service.Create", "payout.Service.Resume", "payout.Service.Stop", "payout.Service.Update",
		"payout.Service.resume", "payout.Service.reveal",
		"payout.Service.storeBatch",
		"payout.change.event",
		"payout.makeIntegrity",
		"server.Server.Tidy",
		"servertest.Client.SetEmailProof",
		"servertest.Node.Write",
		"servertest.Tenant.EverybodyCounts",
		"servertest.WhileUnderWay",
		"setup.StorePublicURL",
		"signin.Service.Rename",
		"signin.Service.admit",
		"signin.Service.code",
		"signin.Service.notePasskey",
		"signin.Service.recover",
		"simulator.write",
		"slug.Update",
		"transfer.Service.abandon",
		"transfer.Service.carryOut",
		"transfer.Service.claimDecision",
		"transfer.Service.claimImport",
		"transfer.Service.decideLines",
		"transfer.Service.storePiece",
		"transfer.Service.upload",
		"transfer.cancel",
		"vault.Vault.Init",
		"vault.Vault.Reseal",
		"vault.Vault.StoreKey",
		"vault.Vault.addMaster",
		"vault.Vault.makeDataKey",
		"vault.Vault.markReseal",
		"vault.Vault.replaceKeys",
		"vault.Vault.resealColumn",
		"vault.Vault.rewrapSome",
		"web.Endpoints.record",
		"web.Endpoints.refusal",
		"workspace.Service.addMember",
		"workspace.Service.assign",
		"workspace.Service.hold",
		"workspace.Service.saveRole",
	}
	if diff := cmp.Diff(want, exempt(t, "..")); diff != "" {
		t.Errorf("listed (-), found (+): a new exemption needs a decision\n%s", diff)
	}
}

// exempt finds the functions of the product that call audit.None, as
// package.Type.function.
func exempt(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && callsNone(function) {
				found = append(found, file.Name.Name+"."+receiver(function)+function.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// callsNone reports whether a function calls audit.None.
func callsNone(function *ast.FuncDecl) (calls bool) {
	ast.Inspect(function, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "None" {
			pkg, named := selector.X.(*ast.Ident)
			calls = calls || named && pkg.Name == "audit"
		}
		return true
	})
	return calls
}

// receiver is the type that a method belongs to, with a dot, and empty for a function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	kind := function.Recv.List[0].Type
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	if name, ok := kind.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
