package client_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bursar/api"
	"bursar/client"
	"bursar/internal/db"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// Every operation of the contract has a method. The tap holds the answers against
// the contract and notes which operations were called.
func TestEveryOperationOfTheContractHasAMethod(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s dbtest.Store) {
		n := servertest.Start(t, s, servertest.AuditKey(filepath.Join(t.TempDir(), "audit.key")))
		c, way := admin(t, n)
		t.Run("login", func(t *testing.T) { walkLogin(t, n, c) })
		t.Run("keys", func(t *testing.T) { walkKeys(t, c) })
		t.Run("directory", func(t *testing.T) { walkDirectory(t, c, n.First.WorkspaceID) })
		t.Run("bulks", func(t *testing.T) { walkBulks(t, c, n.First.WorkspaceID) })
		t.Run("imports", func(t *testing.T) { walkImports(t, n, c, n.First.WorkspaceID) })
		t.Run("doubles", func(t *testing.T) { walkDoubles(t, c, n.First.WorkspaceID) })
		t.Run("tags", func(t *testing.T) { walkTags(t, c, n.First.WorkspaceID) })
		t.Run("methods", func(t *testing.T) { walkMethods(t, c, n.First.WorkspaceID) })
		t.Run("approvals", func(t *testing.T) { walkApprovals(t, n, c, way) })
		t.Run("accounts", func(t *testing.T) { walkAccounts(t, n, c) })
		t.Run("payouts", func(t *testing.T) { walkPayouts(t, n, way) })
		t.Run("payout control", func(t *testing.T) { walkPayoutControl(t, n, way) })
		t.Run("workspaces", func(t *testing.T) { walkWorkspaces(t, c, n.First.OrganizationID) })
		t.Run("people", func(t *testing.T) { walkPeople(t, c, n.First.WorkspaceID) })
		t.Run("invitations", func(t *testing.T) { walkInvitations(t, n, c) })
		t.Run("machine clients", func(t *testing.T) { walkMachineClients(t, n, c, n.First.WorkspaceID) })
		t.Run("organizations", func(t *testing.T) { walkOrganizations(t, n, c) })
		t.Run("operators", func(t *testing.T) { walkOperators(t, n, c) })
		t.Run("audit", func(t *testing.T) { walkAudit(t, c, n) })
		if done := must[*client.Logout](t)(c.Auth.Logout(t.Context())); !done.Revoked || done.SessionID == "" {
			t.Errorf("logout: %+v", done)
		}
		operations := way.checker.Operations()
		if len(operations) < 51 {
			t.Fatalf("the contract has only %d operations", len(operations))
		}
		called := map[string]bool{}
		for _, request := range way.sent() {
			// A literal wins over a parameter, and comes first.
			if i := slices.IndexFunc(operations, func(o string) bool { return matches(o, request) }); i >= 0 {
				called[operations[i]] = true
			}
		}
		for _, operation := range operations {
			if !called[operation] && operation != "GET /v2/receiving-institutions" { // which is another spelling
				t.Errorf("no method of the client calls %s", operation)
			}
		}
	})
}

func walkLogin(t *testing.T, n *servertest.Node, c *client.Client) {
	ctx := t.Context()
	session := must[*client.Session](t)(c.Auth.Exchange(ctx))
	if session.Token == "" || session.UserID != n.First.UserID || session.ExpiresAt == 0 {
		t.Errorf("exchange: %+v", session)
	}
	if me := must[*client.Me](t)(c.Auth.Me(ctx)); me.ID != n.First.UserID || me.Email != "admin@example.com" {
		t.Errorf("me: %+v", me)
	}
	if page := must[*client.Page[client.AuditEntry]](t)(c.Auth.Activity(ctx, client.ListParams{Limit: 1})); len(page.Items) != 1 {
		t.Errorf("activity: %+v", page)
	}
	device := dial(t, n.URL)
	verifier, challenge := client.NewCodeVerifier()
	code := must[*client.DeviceCode](t)(device.Auth.DeviceCode(ctx, "tests", challenge))
	must[*client.DeviceCode](t)(c.Auth.DeviceCode(ctx, "", ""))
	poll := func(verifier string) *client.DeviceCodeStatus {
		t.Helper()
		must[*client.DeviceCodeStatus](t)(c.Auth.PollDeviceCode(ctx, code.Code, ""))
		return must[*client.DeviceCodeStatus](t)(device.Auth.PollDeviceCode(ctx, code.Code, verifier))
	}
	if got := poll(verifier); got.Status != client.DevicePending {
		t.Errorf("before the decision: %+v", got)
	}
	if done := must[*client.DeviceDecision](t)(c.Auth.ApproveDevice(ctx, code.Code)); done.Status != client.DeviceApproved {
		t.Errorf("approve: %+v", done)
	}
	if got := poll(""); got.Token != "" {
		t.Error("a token without the verifier")
	}
	got := poll(verifier)
	if got.Status != client.DeviceApproved || got.Token == "" {
		t.Fatalf("after the approval: %+v", got)
	}
	if me := must[*client.Me](t)(dial(t, n.URL, client.WithToken(got.Token)).Auth.Me(ctx)); me.ID != n.First.UserID {
		t.Errorf("the device is signed in as %+v", me)
	}
	other := must[*client.DeviceCode](t)(device.Auth.DeviceCode(ctx, "", ""))
	if done := must[*client.DeviceDecision](t)(c.Auth.DenyDevice(ctx, other.Code)); done.Status != client.DeviceDenied {
		t.Errorf("deny: %+v", done)
	}
}

func walkKeys(t *testing.T, c *client.Client) {
	ctx := t.Context()
	ends := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	made := must[*client.NewAPIKey](t)(c.Keys.Create(ctx, client.KeyCreateParams{Name: "CI", ExpiresAt: ends, AllowedCIDRs: []string{"127.0.0.0/8"},
		Scope: client.ScopeParams{Permissions: []string{"ws.read"}, Administer: true}}))
	if made.APIKey == "" || made.ExpiresAt != ends.UnixMilli() || !slices.Equal(made.AllowedCIDRs, []string{"127.0.0.0/8"}) ||
		!slices.Equal(made.Permissions, []string{"ws.read"}) || made.Mode != "both" || !made.Administer {
		t.Errorf("create: %+v", made)
	}
	if page := must[*client.Page[client.APIKey]](t)(c.Keys.List(ctx, client.ListParams{})); len(page.Items) != 2 || page.HasMore {
		t.Errorf("list: %+v", page)
	}
	next := must[*client.NewAPIKey](t)(c.Keys.Rotate(ctx, made.ID, client.KeyRotateParams{Grace: client.Duration(time.Minute)}))
	if next.APIKey == made.APIKey || next.Previous == nil || next.Previous.ID != made.ID {
		t.Errorf("rotate: %+v", next)
	}
	leaked := must[*client.NewAPIKey](t)(c.Keys.Create(ctx, client.KeyCreateParams{Name: "leaked"}))
	if report := must[*client.CompromisedKey](t)(c.Keys.RevokeCompromised(ctx, leaked.ID)); !report.Revoked || len(report.Suspended) != 0 {
		t.Errorf("compromised: %+v", report)
	}
	last := must[*client.NewAPIKey](t)(c.Keys.Rotate(ctx, next.ID, client.KeyRotateParams{}))
	if done := must[*client.Revoked](t)(c.Keys.Revoke(ctx, last.ID)); !done.Revoked {
		t.Errorf("revoke: %+v", done)
	}
}

func walkDirectory(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	id := must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{
		WorkspaceID: ws, Type: client.TypePerson, Name: new("Ada"), Tags: []string{"vip"}, Label: new("Countess"),
		Fields: must[client.Fields](t)(client.ParseFields([]byte(`{"phone":"<+44>","rate":1.50,"email":"ada@example.com"}`))),
	})).ID
	entry := must[*client.Entry](t)(c.Directory.Get(ctx, id))
	if entry.Label != "Countess" || entry.Fields.String() != `{"phone":"<+44>","rate":1.50,"email":"ada@example.com"}` || !slices.Equal(entry.Tags, []string{"vip"}) {
		t.Errorf("get: %+v %s", entry, entry.Fields)
	}
	must[*client.Created](t)(c.Directory.Update(ctx, id, client.EntryUpdateParams{
		Fields: must[client.Fields](t)(client.FieldsOf(map[string]any{"phone": nil, "city": "London"})), Name: client.String("Ada L."), Tags: []string{},
		Label: client.String("Ada Lovelace"), Status: client.String(client.StatusInactive),
	}))
	must[*client.Created](t)(c.Directory.Update(ctx, id, client.EntryUpdateParams{}))
	must[*client.Created](t)(c.Directory.Update(ctx, id, client.EntryUpdateParams{Fields: client.Fields{}}))
	entry = must[*client.Entry](t)(c.Directory.Get(ctx, id))
	if entry.Label != "Ada Lovelace" || entry.Status != client.StatusInactive || len(entry.Tags) != 0 ||
		entry.Fields.String() != `{"rate":1.50,"email":"ada@example.com","city":"London"}` {
		t.Errorf("update: %+v %s", entry, entry.Fields)
	}
	page := must[*client.Page[client.EntrySummary]](t)(c.Directory.List(ctx, client.DirectoryListParams{
		WorkspaceID: ws, Type: client.TypePerson, Status: client.StatusInactive, Query: "love",
	}))
	if len(page.Items) != 1 || page.Items[0].ID != id {
		t.Errorf("list: %+v", page)
	}
	if gone := must[*client.Deleted](t)(c.Directory.Delete(ctx, id)); !gone.Deleted {
		t.Errorf("delete: %+v", gone)
	}
	if _, err := c.Directory.Get(ctx, id); !client.IsNotFound(err) {
		t.Errorf("get what is deleted: %v", err)
	}
	if back := must[*client.Restored](t)(c.Directory.Restore(ctx, id)); !back.Restored {
		t.Errorf("restore: %+v", back)
	}
	must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: ws, Type: client.TypeOrganization}))
}

func walkBulks(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	status := "active"
	done := must[*client.Bulk](t)(c.Directory.Bulk(ctx, client.BulkParams{WorkspaceID: ws, Filter: &client.BulkFilter{Status: &status}, Action: "deactivate"}))
	if done.Changed == 0 || !done.Ended() {
		t.Errorf("the bulk is %+v", done)
	}
	must[*client.Bulk](t)(c.Directory.CancelBulk(ctx, done.ID))
	undone := must[*client.Bulk](t)(c.Directory.UndoBulk(ctx, done.ID))
	if got := must[*client.Bulk](t)(c.Directory.GetBulk(ctx, undone.ID)); got.Undoes != done.ID || got.Changed != done.Changed {
		t.Errorf("the undo is %+v", got)
	}
}

func walkImports(t *testing.T, n *servertest.Node, c *client.Client, ws string) {
	ctx := t.Context()
	file := strings.NewReader("Who,email\nAda,nobody\nGrace,grace@example.com\n")
	for _, dry := range []bool{true, false} {
		started, replayed, err := c.Directory.Import(ctx, client.ImportParams{WorkspaceID: ws, DefaultType: client.TypePerson,
			Mapping: map[string]string{"Who": "name"}, Match: "email", OnMatch: "update", DryRun: dry, Raw: dry}, file)
		if err != nil || replayed || started.Status != "queued" {
			t.Fatalf("import: %+v, %v, %v", started, replayed, err)
		}
		n.RunImports(t)
		if done := must[*client.Import](t)(c.Directory.GetImport(ctx, started.ID)); !done.Ended() || done.Created != 1 || done.Refused != 1 || done.DryRun != dry {
			t.Errorf("the import is %+v", done)
		}
		var lines, plan bytes.Buffer
		if err := c.Directory.RefusedLines(ctx, started.ID, &lines); err != nil || !strings.Contains(lines.String(), "Ada,nobody,2,") {
			t.Errorf("refused: %v\n%s", err, &lines)
		}
		if err := c.Directory.ImportPlan(ctx, started.ID, &plan); err != nil || dry != strings.Contains(plan.String(), `"action":"created"`) {
			t.Errorf("plan: %v\n%s", err, &plan)
		}
		must[*client.Import](t)(c.Directory.CancelImport(ctx, started.ID))
	}
	seen := 0
	for i, err := range c.Directory.AllImports(ctx, ws, client.ListParams{Limit: 1}) {
		if err != nil || i.Status != "completed" {
			t.Errorf("listed: %+v, %v", i, err)
		}
		seen++
	}
	held, _, err := c.Directory.Import(ctx, client.ImportParams{WorkspaceID: ws, Hold: true}, strings.NewReader("name\nBob\n"))
	if err != nil || held.Preview == nil {
		t.Fatalf("a held file is %+v, %v", held, err)
	}
	must[*client.Import](t)(c.Directory.StartImport(ctx, held.ID, client.ImportStart{Mapping: held.Preview.Mapping, DefaultType: new("person"), DryRun: true}))
	if seen != 2 {
		t.Errorf("%d imports are listed", seen)
	}
	var export bytes.Buffer
	if err := c.Directory.Export(ctx, client.DirectoryExportParams{DirectoryListParams: client.DirectoryListParams{WorkspaceID: ws, Query: "grace"},
		Format: client.ExportNDJSON, Fields: "email", Raw: true}, &export); err != nil || !strings.Contains(export.String(), "grace@example.com") {
		t.Errorf("export: %v\n%s", err, &export)
	}
	made := must[*client.BatchResult](t)(c.Directory.Batch(ctx, client.Batch{WorkspaceID: ws, Atomic: true,
		Items: []client.BatchItem{{Type: client.TypePerson, EntryUpdate: client.EntryUpdateParams{Name: client.String("Batch"), ExternalID: client.String("E-9")}}}}))
	if page := must[*client.Page[client.EntrySummary]](t)(c.Directory.List(ctx, client.DirectoryListParams{WorkspaceID: ws, ExternalID: "E-9"})); len(page.Items) != 1 || page.Items[0].ID != made.Results[0].ID {
		t.Errorf("the batch made %+v, the list has %+v", made, page)
	}
}

func walkDoubles(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	twin := func(on string) *client.Created {
		return must[*client.Created](t)(c.Directory.CreateUnlessDouble(ctx, client.EntryCreateParams{WorkspaceID: ws, Type: client.TypePerson, Name: new("Twin"), Fields: client.Fields{}}, on))
	}
	one, other := twin(""), twin(client.OnDuplicateWarn)
	if len(one.Duplicates) != 0 || len(other.Duplicates) != 1 || other.Duplicates[0].ID != one.ID {
		t.Errorf("doubles: %+v, %+v", one, other)
	}
	if found := must[*client.Duplicates](t)(c.Directory.Duplicates(ctx, one.ID)); len(found.Duplicates) != 1 || found.Duplicates[0].ID != other.ID {
		t.Errorf("the doubles are %+v", found)
	}
	made := must[*client.Merge](t)(c.Directory.Merge(ctx, one.ID, client.MergeParams{Sources: []string{other.ID}}))
	if got := must[*client.Merge](t)(c.Directory.GetMerge(ctx, made.ID)); got.TargetID != one.ID || !slices.Equal(got.Sources, []string{other.ID}) {
		t.Errorf("the merge is %+v", got)
	}
	if undone := must[*client.Merge](t)(c.Directory.UndoMerge(ctx, made.ID)); undone.UndoneAt == 0 {
		t.Errorf("undone: %+v", undone)
	}
	var ids []string
	for m, err := range c.Directory.AllMerges(ctx, client.MergeListParams{WorkspaceID: ws, EntryID: one.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if !slices.Equal(ids, []string{made.ID}) {
		t.Errorf("the merges are %v", ids)
	}
}

func walkTags(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	tag := must[*client.Tag](t)(c.Tags.Create(ctx, client.TagCreateParams{WorkspaceID: ws, Name: "supplier", AppliesTo: new(client.TypeOrganization)}))
	tag = must[*client.Tag](t)(c.Tags.Update(ctx, tag.ID, client.TagUpdateParams{AppliesTo: client.String(client.AppliesToAll)}))
	if tag.Name != "supplier" || tag.AppliesTo != client.AppliesToAll {
		t.Errorf("update: %+v", tag)
	}
	id := must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: ws, Type: client.TypePerson, Tags: []string{tag.ID}})).ID
	if page := must[*client.Page[client.EntrySummary]](t)(c.Directory.List(ctx, client.DirectoryListParams{WorkspaceID: ws, Tag: "supplier"})); len(page.Items) != 1 || page.Items[0].ID != id {
		t.Errorf("list by tag: %+v", page)
	}
	if page := must[*client.Page[client.Tag]](t)(c.Tags.List(ctx, ws, client.ListParams{})); !slices.Contains(page.Items, *tag) {
		t.Errorf("list: %+v", page)
	}
	if gone := must[*client.Deleted](t)(c.Tags.Delete(ctx, tag.ID)); !gone.Deleted {
		t.Errorf("delete: %+v", gone)
	}
}

func walkAccounts(t *testing.T, n *servertest.Node, c *client.Client) {
	ctx, ws := t.Context(), n.First.WorkspaceID
	made := must[*client.Account](t)(c.Accounts.Create(ctx, client.AccountCreateParams{WorkspaceID: &ws, Name: "Payroll"}))
	if made.Currency != "PHP" || made.Mode != client.ModeSandbox || made.Status != client.AccountActive {
		t.Errorf("create: %+v", made)
	}
	if got := must[*client.Account](t)(c.Accounts.Update(ctx, made.ID, client.AccountUpdateParams{Name: client.String("Wages")})); got.Name != "Wages" {
		t.Errorf("update: %+v", got)
	}
	x := n.FirstTenant(t)
	x.Deposit(made.ID, 500)
	other := must[*client.Account](t)(c.Accounts.Create(ctx, client.AccountCreateParams{WorkspaceID: &ws, Name: "Other"}))
	moved := must[*client.Transfer](t)(c.Accounts.Transfer(ctx, client.TransferParams{SourceAccountID: made.ID, DestinationAccountID: other.ID, Amount: 200}))
	if got := must[*client.AccountBalances](t)(c.Accounts.Balances(ctx, made.ID)); got.AvailableBalance != 300 || got.TotalBalance != 300 {
		t.Errorf("balances: %+v", got)
	}
	if got := must[*client.Account](t)(c.Accounts.Get(ctx, other.ID)); got.AvailableBalance != 200 {
		t.Errorf("get: %+v", got)
	}
	page := must[*client.Page[client.Posting]](t)(c.Accounts.Postings(ctx, made.ID, client.PostingListParams{Bucket: client.BucketAvailable, Reference: moved.ID}))
	if len(page.Items) != 1 || page.Items[0].Amount != -200 || page.Items[0].Balance != 300 || page.Items[0].TransactionID != moved.TransactionID {
		t.Errorf("postings: %+v", page)
	}
	if page := must[*client.Page[client.Deposit]](t)(c.Accounts.Deposits(ctx, client.DepositListParams{WorkspaceID: ws, AccountID: made.ID})); len(page.Items) != 1 || page.Items[0].Amount != 500 {
		t.Errorf("deposits: %+v", page)
	}
	if page := must[*client.Page[client.Account]](t)(c.Accounts.List(ctx, ws, client.ListParams{})); len(page.Items) < 2 {
		t.Errorf("list: %+v", page)
	}
	all := 0
	for _, err := range c.Accounts.AllPostings(ctx, made.ID, client.PostingListParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		all++
	}
	if all != 2 {
		t.Errorf("the account has %d postings", all)
	}
}

func walkPayouts(t *testing.T, n *servertest.Node, way *tap) {
	ctx := t.Context()
	x := n.Tenant(t)
	c := dial(t, n.URL, way.through(), client.WithToken(x.Owner.Token))
	from := must[*client.Account](t)(c.Accounts.Create(ctx, client.AccountCreateParams{WorkspaceID: &x.WorkspaceID, Name: "Payroll"}))
	if got := must[*client.Deposit](t)(c.Sandbox.Deposit(ctx, client.SimulatedDepositParams{AccountID: from.ID, AmountCents: 1_000_000})); got.Amount != 1_000_000 {
		t.Errorf("deposit: %+v", got)
	}
	terms := func(number string, cents int64) client.PayoutTerms {
		return client.PayoutTerms{AmountCents: cents, SettlementRail: new("instapay"),
			SettlementAccount: &client.SettlementAccount{BankAccountName: "Grace Hopper", BankAccountNumber: number, BankCode: "BOPIPHMMXXX"}}
	}
	ask := func(number string) client.PayoutCreateParams {
		return client.PayoutCreateParams{SourceAccountID: from.ID, Currency: "PHP", PayoutTerms: terms(number, 10_000)}
	}
	// One person alone: what is published is sent.
	if got := must[*client.PayoutRehearsal](t)(c.Payouts.Validate(ctx, ask("1234567890"))); !got.Valid || got.SettlementRail != "instapay" || got.ApprovalsNeeded != 0 {
		t.Errorf("validate: %+v", got)
	}
	draft := ask("1234569011")
	draft.Status, draft.ExternalID = new(client.PayoutDraft), new("wages-1")
	made := must[*client.Payout](t)(c.Payouts.Create(ctx, draft))
	if made.Status != client.PayoutDraft || !strings.HasSuffix(made.SettlementAccount.BankAccountNumber, "9011") {
		t.Errorf("create: %+v", made)
	}
	if got := must[*client.Payout](t)(c.Payouts.Update(ctx, made.ID, client.PayoutUpdateParams{AmountCents: new(int64(20_000))})); got.AmountCents != 20_000 {
		t.Errorf("update: %+v", got)
	}
	if got := must[*client.Payout](t)(c.Payouts.Reveal(ctx, made.ID)); got.SettlementAccount.BankAccountNumber != "1234569011" {
		t.Errorf("reveal: %+v", got)
	}
	must[*client.Payout](t)(c.Payouts.Publish(ctx, made.ID))
	n.RunBackground(t)
	sent := func(id string) {
		t.Helper()
		for p := (*client.Payout)(nil); p == nil || p.Status != client.PayoutProcessing || len(p.Attempts) == 0 || p.Attempts[0].State != "accepted"; {
			p = must[*client.Payout](t)(c.Payouts.Get(ctx, id))
		}
	}
	sent(made.ID)
	if got := must[*client.Payout](t)(c.Sandbox.Settle(ctx, made.ID)); got.Status != client.PayoutCompleted {
		t.Errorf("settle: %+v", got)
	}
	if got := must[*client.PayoutReceipt](t)(c.Payouts.Receipt(ctx, made.ID)); got.AmountCents != 20_000 || got.EndToEndID == "" || got.SourceName != "Payroll" {
		t.Errorf("receipt: %+v", got)
	}
	if got := must[*client.Payout](t)(c.Sandbox.Return(ctx, made.ID, client.SimulatedReasonParams{Reason: new("AC04")})); got.Status != client.PayoutReversed || got.Failure.Reason != "AC04" {
		t.Errorf("return: %+v", got)
	}
	second := must[*client.Payout](t)(c.Payouts.Create(ctx, ask("2234569011")))
	sent(second.ID)
	if got := must[*client.Payout](t)(c.Sandbox.Reject(ctx, second.ID, client.SimulatedReasonParams{})); got.Status != client.PayoutFailed {
		t.Errorf("reject: %+v", got)
	}
	if got := must[*client.Payout](t)(c.Payouts.Retry(ctx, second.ID)); got.Status != client.PayoutPending {
		t.Errorf("retry: %+v", got)
	}
	third := must[*client.Payout](t)(c.Payouts.Create(ctx, ask("3234569011")))
	sent(third.ID)
	x.Contradict(third.ID, client.ModeSandbox)
	found := client.PayoutResolveParams{As: client.ResolvePaid, Evidence: "statement 12"}
	if _, err := c.Payouts.Confirm(ctx, third.ID); err == nil {
		t.Error("a payout is confirmed that is not held")
	}
	if got := must[*client.Payout](t)(c.Payouts.Resolve(ctx, third.ID, found)); got.Status != client.PayoutCompleted {
		t.Errorf("resolve: %+v", got)
	}
	if page := must[*client.Page[client.Payout]](t)(c.Payouts.List(ctx, client.PayoutListParams{WorkspaceID: x.WorkspaceID, ExternalID: "wages-1"})); len(page.Items) != 1 || page.Items[0].ID != made.ID {
		t.Errorf("list: %+v", page)
	}
	// Services of the sandbox.
	if got := must[*client.ServiceHealth](t)(c.Sandbox.SetService(ctx, "pesonet", client.SimulatedServiceParams{WorkspaceID: &x.WorkspaceID, Status: "down"})); got.Status != "down" {
		t.Errorf("set service: %+v", got)
	}
	if got := must[*client.ServiceHealth](t)(c.Rails.Health(ctx, "pesonet", client.HealthParams{Mode: client.ModeSandbox, WorkspaceID: x.WorkspaceID})); got.Status != "down" || got.NextWindow == 0 {
		t.Errorf("health: %+v", got)
	}
	must[*client.ServiceHealth](t)(c.Sandbox.SetService(ctx, "pesonet", client.SimulatedServiceParams{WorkspaceID: &x.WorkspaceID, Status: "up"}))
	if page := must[*client.Page[client.Institution]](t)(c.Rails.Institutions(ctx, "instapay", client.ListParams{})); len(page.Items) < 10 || len(page.Items[0].Rails) == 0 {
		t.Errorf("institutions: %+v", page)
	}
	if _, err := c.Do(ctx, http.MethodGet, "/v2/receiving-institutions", nil, nil); err != nil { // another spelling, without a method
		t.Error(err)
	}
	// Two people: one asks, and the other decides.
	other := n.Person(t, x.Member("admin"))
	approver := dial(t, n.URL, way.through(), client.WithToken(other.Token))
	asked := func() (*client.Payout, *client.Approval) {
		t.Helper()
		p := must[*client.Payout](t)(c.Payouts.Create(ctx, ask("1234567890")))
		return p, must[*client.Approval](t)(approver.Approvals.Get(ctx, p.ApprovalID))
	}
	p, approval := asked()
	if got := must[*client.Payout](t)(approver.Payouts.Approve(ctx, p.ID, client.PayoutApproveParams{Digest: approval.Digest, Verification: "called"})); got.Status != client.PayoutPending {
		t.Errorf("approve: %+v", got)
	}
	p, _ = asked()
	if got := must[*client.Payout](t)(approver.Payouts.Reject(ctx, p.ID, client.PayoutRejectParams{Reason: "no"})); got.Status != client.PayoutCancelled {
		t.Errorf("reject: %+v", got)
	}
	p, _ = asked()
	if got := must[*client.Payout](t)(c.Payouts.Cancel(ctx, p.ID, client.PayoutCancelParams{Reason: "not needed"})); got.Status != client.PayoutCancelled || got.CancelReason != "not needed" {
		t.Errorf("cancel: %+v", got)
	}
	batch := must[*client.PayoutBatch](t)(c.Payouts.Batch(ctx, client.PayoutBatchParams{SourceAccountID: from.ID, Currency: "PHP",
		Payouts: []client.PayoutTerms{terms("1234567890", 100), terms("1234567890", 5_000_001)}}))
	if batch.Payouts != 1 || batch.Refused != 1 || batch.Results[1].Error.Code != api.CodeAmountAboveMaximum {
		t.Errorf("batch: %+v", batch)
	}
	file := strings.NewReader("bank_code,account_number,account_name,amount\nBOPIPHMMXXX,1234567890,Ada,1.00\n")
	for _, dry := range []bool{true, false} {
		p := client.PayoutFileParams{SourceAccountID: from.ID, Currency: "PHP", Description: "Wages", DryRun: dry}
		list := must[[]client.PayoutBatch](t)(c.Payouts.BatchFile(ctx, p, file))
		if len(list) != 1 || list[0].Payouts != 1 || list[0].Description != "Wages" || (list[0].ID == "") != dry || list[0].Results[0].Line != 2 {
			t.Errorf("file: %+v", list)
		}
	}
	if got := must[*client.PayoutBatch](t)(c.Payouts.GetBatch(ctx, batch.ID)); got.Statuses[client.PayoutInitiated] != 1 {
		t.Errorf("batch: %+v", got)
	}
	count := 0
	for _, err := range c.Payouts.All(ctx, client.PayoutListParams{WorkspaceID: x.WorkspaceID, Limit: 2}) {
		if count++; err != nil {
			t.Fatal(err)
		}
	}
	if count != 8 {
		t.Errorf("there are %d payouts", count)
	}
}

func walkMethods(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	id := must[*client.Created](t)(c.Directory.Create(ctx, client.EntryCreateParams{WorkspaceID: ws, Type: client.TypePerson, Name: new("Grace")})).ID
	method := must[*client.ReceivingMethod](t)(c.ReceivingMethods.Add(ctx, id, client.ReceivingMethodParams{Provider: "bank", AccountName: "Grace", AccountID: "1"}))
	method = must[*client.ReceivingMethod](t)(c.ReceivingMethods.Update(ctx, id, method.ID, client.ReceivingMethodUpdateParams{AccountID: client.String("2"), IsDefault: client.Bool(true)}))
	entry := must[*client.Entry](t)(c.Directory.Get(ctx, id))
	if entry.ReceivingMethods == nil || !slices.Equal(*entry.ReceivingMethods, []client.ReceivingMethod{*method}) || method.AccountID != "2" || !method.IsDefault {
		t.Errorf("update: %+v, %+v", method, entry)
	}
	if gone := must[*client.Deleted](t)(c.ReceivingMethods.Remove(ctx, id, method.ID)); !gone.Deleted {
		t.Errorf("remove: %+v", gone)
	}
}

func walkPayoutControl(t *testing.T, n *servertest.Node, way *tap) {
	ctx := t.Context()
	x := n.Tenant(t)
	c := dial(t, n.URL, way.through(), client.WithToken(x.Owner.Token))
	rule := must[*client.ApprovalRule](t)(c.ApprovalRules.Create(ctx, client.ApprovalRuleParams{WorkspaceID: &x.WorkspaceID, AboveCents: new(int64(1000)), Approvals: new(int64(0))}))
	if page := must[*client.Page[client.ApprovalRule]](t)(c.ApprovalRules.List(ctx, x.WorkspaceID, client.ListParams{})); len(page.Items) != 1 || page.Items[0].ID != rule.ID {
		t.Errorf("rules: %+v", page)
	}
	for one, err := range c.ApprovalRules.All(ctx, x.WorkspaceID) {
		if err != nil || *one.AboveCents != 1000 || one.Approvals != 0 || one.Status != "active" {
			t.Errorf("rule: %+v, %v", one, err)
		}
	}
	if kept := must[*client.ApprovalRule](t)(c.ApprovalRules.Confirm(ctx, rule.ID)); kept.Status != "active" {
		t.Errorf("confirming a rule that is not suspended: %+v", kept)
	}
	if gone := must[*client.ApprovalRule](t)(c.ApprovalRules.Delete(ctx, rule.ID)); gone.Status != "removed" {
		t.Errorf("delete: %+v", gone)
	}
	limit := must[*client.PayoutLimit](t)(c.PayoutLimits.Set(ctx, client.PayoutLimitParams{WorkspaceID: &x.WorkspaceID, Per: "day", AmountCents: new(int64(500)), Each: new("payee")}))
	if page := must[*client.Page[client.PayoutLimit]](t)(c.PayoutLimits.List(ctx, x.WorkspaceID, client.ListParams{})); len(page.Items) != 1 || page.Items[0] != *limit {
		t.Errorf("limits: %+v", page)
	}
	for one, err := range c.PayoutLimits.All(ctx, x.WorkspaceID) {
		if err != nil || one.AmountCents != 500 || one.Each != "payee" {
			t.Errorf("limit: %+v, %v", one, err)
		}
	}
	if gone := must[*client.PayoutLimit](t)(c.PayoutLimits.Delete(ctx, limit.ID)); !gone.Removed {
		t.Errorf("delete: %+v", gone)
	}
}

func walkApprovals(t *testing.T, n *servertest.Node, c *client.Client, way *tap) {
	ctx := t.Context()
	x := n.Tenant(t)
	maker, second := x.Owner, x.Node.Person(t, x.Member("admin"))
	c = dial(t, n.URL, way.through(), client.WithToken(maker.Token))
	approver := dial(t, n.URL, way.through(), client.WithToken(second.Token))
	ask := func() *client.Approval {
		t.Helper()
		method := must[*client.ReceivingMethod](t)(c.ReceivingMethods.Add(ctx, x.Entry("Grace"), client.ReceivingMethodParams{Provider: "bank", AccountName: "Grace", AccountID: "1"}))
		return must[*client.Approval](t)(approver.Approvals.Get(ctx, method.ApprovalID))
	}
	one := ask()
	done := must[*client.Approval](t)(approver.Approvals.Approve(ctx, one.ID, client.ApprovalApproveParams{Digest: one.Digest, Verification: "called"}))
	if done.State != "approved" || done.DecidedBy == nil || done.DecidedBy.ID != second.UserID {
		t.Errorf("approve: %+v", done)
	}
	if methods := must[[]client.ReceivingMethod](t)(c.ReceivingMethods.List(ctx, one.EntryID)); len(methods) != 1 || methods[0].Status != "active" {
		t.Errorf("methods: %+v", methods)
	}
	if done := must[*client.Approval](t)(approver.Approvals.Reject(ctx, ask().ID, client.ApprovalRejectParams{Reason: "no"})); done.State != "rejected" {
		t.Errorf("reject: %+v", done)
	}
	if done := must[*client.Approval](t)(c.Approvals.Withdraw(ctx, ask().ID)); done.State != "withdrawn" {
		t.Errorf("withdraw: %+v", done)
	}
	two := ask()
	many := must[*client.ApprovalsDecided](t)(approver.Approvals.Decide(ctx, client.ApprovalDecideParams{WorkspaceID: x.WorkspaceID, Decision: "approve",
		Verification: "called", Approvals: []client.ApprovalShown{{ID: two.ID, Digest: two.Digest}}}))
	if len(many.Results) != 1 || !many.Results[0].OK || many.Results[0].State != "approved" {
		t.Errorf("decide: %+v", many)
	}
	file := strings.NewReader("type,name,method.provider,method.account_name,method.account_id\nperson,Ada,bank,Ada,1\n")
	i, _, err := c.Directory.Import(ctx, client.ImportParams{WorkspaceID: x.WorkspaceID}, file)
	if err != nil {
		t.Fatal(err)
	}
	n.RunImports(t)
	i = must[*client.Import](t)(c.Directory.GetImport(ctx, i.ID))
	lines := 0
	for l, err := range approver.Approvals.AllLines(ctx, i.ApprovalID, client.ApprovalLinesParams{Flag: "shared_account"}) {
		if lines++; err != nil || l.EntryLabel != "Ada" {
			t.Errorf("line: %+v, %v", l, err)
		}
	}
	if lines != 1 {
		t.Errorf("there are %d lines", lines)
	}
	count := 0
	for _, err := range c.Approvals.All(ctx, client.ApprovalListParams{WorkspaceID: x.WorkspaceID}) {
		if count++; err != nil {
			t.Error(err)
		}
	}
	if count != 5 {
		t.Errorf("there are %d approvals", count)
	}
	stopped := must[*client.PayoutSending](t)(c.Payouts.Stop(ctx, x.WorkspaceID, client.PayoutStopParams{Reason: "a drill", Mode: client.String("sandbox")}))
	if got := must[*client.PayoutSending](t)(c.Payouts.Sending(ctx, x.WorkspaceID)); !stopped.Sandbox.Stopped || got.Sandbox.Reason != "a drill" || got.Live.Stopped {
		t.Errorf("stop: %+v", got)
	}
	if got := must[*client.PayoutSending](t)(c.Payouts.Resume(ctx, x.WorkspaceID, client.PayoutResumeParams{})); got.Sandbox.Stopped {
		t.Errorf("resume: %+v", got)
	}
	hours := int64(48)
	if got := must[*client.SecondPersonExtended](t)(c.Approvals.ExtendSecondPerson(ctx, x.WorkspaceID)); got.Extended {
		t.Errorf("with two people, %+v", got)
	}
	policy := must[*client.ReceivingPolicy](t)(c.Approvals.UpdatePolicy(ctx, x.WorkspaceID, client.ReceivingPolicyParams{ReceivingCoolingHours: &hours}))
	if got := must[*client.ReceivingPolicy](t)(c.Approvals.Policy(ctx, x.WorkspaceID)); got.CoolingHours != 48 || policy.CoolingHours != 48 || got.Persons != 2 {
		t.Errorf("policy: %+v", got)
	}
}

func walkWorkspaces(t *testing.T, c *client.Client, org string) {
	ctx := t.Context()
	made := must[*client.Workspace](t)(c.Workspaces.Create(ctx, client.WorkspaceCreateParams{Name: "Payroll", OrganizationID: org}))
	made = must[*client.Workspace](t)(c.Workspaces.Update(ctx, made.ID, client.WorkspaceUpdateParams{Slug: client.String("pay")}))
	if got := must[*client.Workspace](t)(c.Workspaces.Get(ctx, made.ID)); *got != *made || got.Slug != "pay" || got.Name != "Payroll" {
		t.Errorf("get: %+v", got)
	}
	if page := must[*client.Page[client.Workspace]](t)(c.Workspaces.List(ctx, client.ListParams{})); len(page.Items) != 2 {
		t.Errorf("list: %+v", page)
	}
}

func walkMachineClients(t *testing.T, n *servertest.Node, c *client.Client, ws string) {
	ctx := t.Context()
	id, secret, err := n.Identity.CreateClient(ctx, db.Caller{}, ws, "Robot", "viewer")
	if err != nil {
		t.Fatal(err)
	}
	if got := must[*client.NewMachineClient](t)(c.MachineClients.Rotate(ctx, ws, id)); got.ID != id || got.Name != "Robot" || got.Secret == "" || got.Secret == secret {
		t.Errorf("rotate: %+v", got)
	}
	for m, err := range c.MachineClients.All(ctx, ws, client.ListParams{}) {
		if err != nil || m.ID != id || !slices.Equal(m.Roles, []string{"viewer"}) || m.SecretSeenBy == nil || m.SecretSeenBy.ID != n.First.UserID {
			t.Errorf("listed: %+v, %v", m, err)
		}
	}
}

func walkPeople(t *testing.T, c *client.Client, ws string) {
	ctx := t.Context()
	added := must[*client.MemberAdded](t)(c.Members.Add(ctx, ws, client.MemberAddParams{Email: "grace@example.com", Role: "viewer"}))
	if added.UserID == "" || added.InvitationURL == "" {
		t.Errorf("add: %+v", added)
	}
	role := must[*client.Role](t)(c.Roles.Define(ctx, ws, "clerk", client.RoleParams{Name: "Clerk", Color: new("#0f766e"), Permissions: []string{"ws.read"}}))
	must[*client.Role](t)(c.Roles.Define(ctx, ws, "nobody", client.RoleParams{Name: "Nobody"}))
	if role.Key != "clerk" || role.BuiltIn {
		t.Errorf("define: %+v", role)
	}
	if got := must[*client.RoleAssignment](t)(c.Roles.Assign(ctx, ws, added.UserID, "clerk")); got.Role != "clerk" {
		t.Errorf("assign: %+v", got)
	}
	members := must[*client.Page[client.Member]](t)(c.Members.List(ctx, ws, client.ListParams{})).Items
	if i := slices.IndexFunc(members, func(m client.Member) bool { return m.ID == added.UserID }); i < 0 || !slices.Equal(members[i].Roles, []string{"viewer", "clerk"}) {
		t.Errorf("members: %+v", members)
	}
	if roles := must[*client.Page[client.Role]](t)(c.Roles.List(ctx, ws, client.ListParams{})).Items; len(roles) != 9 {
		t.Errorf("%d roles", len(roles))
	}
	if got := must[*client.RoleAssignment](t)(c.Roles.Unassign(ctx, ws, added.UserID, "clerk")); got.Role != "clerk" {
		t.Errorf("unassign: %+v", got)
	}
	if gone := must[*client.RoleDeleted](t)(c.Roles.Delete(ctx, ws, "clerk")); !gone.Deleted {
		t.Errorf("delete: %+v", gone)
	}
	for range c.Members.Suspended(ctx, ws, client.ListParams{}) {
		t.Error("access is suspended")
	}
	const nowhere = "sus_01jd2w8m3p5r7t9v1x3z5b7d9f"
	for _, decide := range []func(context.Context, string, string) (*client.SuspendedAccess, error){c.Members.ConfirmSuspended, c.Members.RemoveSuspended} {
		var missing *client.Error
		if _, err := decide(ctx, ws, nowhere); !errors.As(err, &missing) || missing.Status != http.StatusNotFound {
			t.Errorf("decide about nothing: %v", err)
		}
	}
	if gone := must[*client.MemberRemoved](t)(c.Members.Remove(ctx, ws, added.UserID)); gone.UserID != added.UserID {
		t.Errorf("remove: %+v", gone)
	}
}

func walkInvitations(t *testing.T, n *servertest.Node, c *client.Client) {
	ctx := t.Context()
	first, second := n.Tenant(t), n.Tenant(t)
	want := []string{first.Add("admin@example.com", "viewer"), second.Add("admin@example.com", "auditor")}
	var got []string
	for i, err := range c.Invitations.All(ctx, client.ListParams{Limit: 1}) {
		if err != nil || i.WorkspaceName != "Payroll" || len(i.Roles) != 1 || i.ExpiresAt <= i.CreatedAt {
			t.Errorf("listed: %+v, %v", i, err)
		}
		got = append(got, i.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the invitations are %v, want %v", got, want)
	}
	if done := must[*client.InvitationDecision](t)(c.Invitations.Accept(ctx, want[0])); done.Status != "accepted" || done.WorkspaceID != first.WorkspaceID {
		t.Errorf("accept: %+v", done)
	}
	if done := must[*client.InvitationDecision](t)(c.Invitations.Decline(ctx, want[1])); done.Status != "declined" || done.WorkspaceID != second.WorkspaceID {
		t.Errorf("decline: %+v", done)
	}
	if gone := must[*client.MemberRemoved](t)(c.Members.Remove(ctx, first.WorkspaceID, n.First.UserID)); gone.UserID != n.First.UserID {
		t.Errorf("leave: %+v", gone)
	}
}

func walkOrganizations(t *testing.T, n *servertest.Node, c *client.Client) {
	ctx := t.Context()
	made := must[*client.Organization](t)(c.Organizations.Create(ctx, client.OrganizationCreateParams{Name: "Globex", Slug: new("globex")}))
	changed := must[*client.Organization](t)(c.Organizations.UpdateSettings(ctx, made.ID, client.OrganizationUpdateParams{Name: client.String("Globex Ltd")}))
	if changed.Name != "Globex Ltd" || changed.Slug != "globex" {
		t.Errorf("update: %+v", changed)
	}
	if got := must[*client.Organization](t)(c.Organizations.Get(ctx, made.ID)); *got != *changed {
		t.Errorf("get: %+v", got)
	}
	if got := must[*client.Organization](t)(c.Organizations.Settings(ctx, made.ID)); *got != *changed {
		t.Errorf("settings: %+v", got)
	}
	if page := must[*client.Page[client.Organization]](t)(c.Organizations.List(ctx, client.ListParams{})); len(page.Items) != 2 {
		t.Errorf("list: %+v", page)
	}
	org, second := n.First.OrganizationID, n.Member(t, "owner@example.com", "viewer").UserID
	if got := must[*client.Ownership](t)(c.Organizations.AddOwner(ctx, org, second)); got.UserID != second || got.OrganizationID != org {
		t.Errorf("add an owner: %+v", got)
	}
	var owners []string
	for u, err := range c.Organizations.AllOwners(ctx, org, client.ListParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		owners = append(owners, u.Email)
	}
	if !slices.Equal(owners, []string{"admin@example.com", "owner@example.com"}) {
		t.Errorf("owners: %v", owners)
	}
	for range c.Organizations.SuspendedOwners(ctx, org, client.ListParams{}) {
		t.Error("an owner is suspended")
	}
	for _, decide := range []func(context.Context, string, string) (*client.SuspendedOwner, error){c.Organizations.ConfirmOwner, c.Organizations.RemoveSuspendedOwner} {
		if _, err := decide(ctx, org, "sus_01jd2w8m3p5r7t9v1x3z5b7d9f"); !client.IsNotFound(err) {
			t.Errorf("decide about no owner: %v", err)
		}
	}
	must[*client.Ownership](t)(c.Organizations.RemoveOwner(ctx, org, second))
	if got := must[*client.Leaver](t)(c.Organizations.RemoveLeaver(ctx, org, client.LeaverRemoveParams{Email: new("owner@example.com")})); !got.Removed || got.UserID != second {
		t.Errorf("remove a leaver: %+v", got)
	}
}

func walkOperators(t *testing.T, n *servertest.Node, c *client.Client) {
	ctx, x := t.Context(), n.Tenant(t)
	n.Admin(t).Operate("ops.money")
	x.Owner.Operate("ops.money")
	for _, reference := range []string{"OPEN-1", "OPEN-2"} {
		if _, err := n.OperatorDeposit(x.Owner, x.LiveAccount(), reference, 100); err != nil {
			t.Fatal(err)
		}
	}
	waiting := must[*client.Page[client.OpsRequest]](t)(c.Operators.Requests(ctx, client.ListParams{})).Items
	if len(waiting) != 2 || waiting[0].Kind != "deposit" {
		t.Fatalf("waiting are %+v", waiting)
	}
	if done := must[*client.OpsDecision](t)(c.Operators.Approve(ctx, waiting[0].ID, waiting[0].Digest)); done.State != "approved" {
		t.Errorf("approve: %+v", done)
	}
	for one, err := range c.Operators.AllRequests(ctx, client.ListParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if done := must[*client.OpsDecision](t)(c.Operators.Reject(ctx, one.ID)); done.State != "rejected" {
			t.Errorf("reject: %+v", done)
		}
	}
}

func walkAudit(t *testing.T, c *client.Client, n *servertest.Node) {
	ctx := t.Context()
	page := must[*client.Page[client.AuditEntry]](t)(c.Audit.List(ctx, client.AuditListParams{
		WorkspaceID: n.First.WorkspaceID, Actor: n.First.UserID, Action: "directory.entry.created", ResourceType: "directory_entry",
		Outcome: client.OutcomeSuccess, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour),
	}))
	if len(page.Items) == 0 || page.Items[0].ActorEmail != "admin@example.com" || page.Items[0].RequestID == "" || page.Items[0].Timestamp == 0 {
		t.Errorf("list: %+v", page)
	}
	one := page.Items[0]
	if got := must[*client.AuditEntry](t)(c.Audit.Get(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, Actor: "usr_nobody"}, one.ID)); got.ID != one.ID || got.Description != one.Description {
		t.Errorf("get: %+v", got)
	}
	if page := must[*client.Page[client.AuditEntry]](t)(c.Audit.List(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, ResourceID: one.ResourceID})); len(page.Items) == 0 {
		t.Error("no row of the resource")
	}
	if page := must[*client.Page[client.AuditEntry]](t)(c.Audit.List(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, To: time.UnixMilli(1)})); len(page.Items) != 0 {
		t.Errorf("rows before all time: %+v", page)
	}
	if page := must[*client.Page[client.AuditEntry]](t)(c.Audit.List(ctx, client.AuditListParams{OrganizationID: n.First.OrganizationID, Limit: 100})); page.HasMore {
		t.Errorf("rows of the organization: %+v", page)
	}
	n.SequenceAudit(t)
	feed, err := c.Audit.Feed(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, Limit: 1}, 0, time.Second)
	if err != nil || len(feed.Entries) != 1 || feed.Entries[0].Seq != 1 || feed.After != 1 || !feed.HasMore {
		t.Errorf("the feed is %+v, %v", feed, err)
	}
	proof, err := c.Audit.Proof(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, Limit: 7}, one.ID, 1)
	if err != nil || proof.Row.ID != one.ID || proof.Since == nil || proof.Since.Size != 1 {
		t.Errorf("the proof is %+v, %v", proof, err)
	}
	n.RunBackground(t)
	var file bytes.Buffer
	if err := c.Audit.ProofFile(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, Limit: 7}, 0, &file); err != nil || !strings.HasPrefix(file.String(), "PK") {
		t.Errorf("the proof file has %d bytes, %v", file.Len(), err)
	}
	for format, lines := range map[string]int{client.ExportCSV: 2, client.ExportNDJSON: 1, "": 2} {
		var file bytes.Buffer
		err := c.Audit.Export(ctx, client.AuditListParams{WorkspaceID: n.First.WorkspaceID, ResourceID: one.ResourceID, Action: one.Action, Limit: 7, Cursor: "x"}, format, &file)
		if err != nil || strings.Count(file.String(), "\n") != lines || !strings.Contains(file.String(), one.ID) {
			t.Errorf("export as %q: %v\n%s", format, err, file.String())
		}
	}
}
