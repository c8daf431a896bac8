// Package control bounds payouts by the rules and limits of their workspace and by the operator's screening. It knows payouts only as
// Spending and Reserved: package payout calls it.
package control

import (
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/cache"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/rail"
	"bursar/internal/vault"
	"bursar/internal/web"
)

// Service decides how many people have to approve a payout, and how much may be paid.
//
// Stricter changes apply immediately. Looser ones wait for a second person, where there is one: see approval.RequestRelaxation. All changes of a
// workspace are serialized.
//
// The rules and limits of a workspace are cached until the epoch of the store moves. Every change of rules, limits, members, roles and
// simulated services moves it on all nodes. So a payout of a workspace without limits needs no query for them. A node that learns of a
// change a moment later applies the previous rules until then. The amount of a limit by day is always read from the store.
type Service struct {
	db        *db.DB
	vault     *vault.Vault
	authority *access.Authority
	cursors   *web.Cursors
	approvals *approval.Service
	rails     *rail.Rails
	screener  *Screener
	guards    cache.Cache[string, guard]
	batches   cache.Cache[string, checkedBatch] // while they are sent
}

// maxGuards bounds how many workspaces are cached.
const maxGuards = 10_000

// maxOfEach bounds the rules and the limits of a workspace, since each payout reads all of them.
const maxOfEach = 100

// New returns the service, and registers its kinds of approvals.
func New(d *db.DB, v *vault.Vault, a *access.Authority, c *web.Cursors, approvals *approval.Service, rails *rail.Rails, screening Screening) *Service {
	s := &Service{db: d, vault: v, authority: a, cursors: c, approvals: approvals, rails: rails, screener: NewScreener(screening),
		guards: cache.New[string, guard](maxGuards), batches: cache.New[string, checkedBatch](maxBatches)}
	approvals.Register(s.ruleKind())
	approvals.Register(limitKind())
	return s
}

// guard contains the rules, limits and states that apply in a workspace.
type guard struct {
	epoch  uint64
	rules  []rule  // those in force
	alone  []rule  // suspended ones, which one person alone has made
	sums   []limit // the counters of rules by sum
	limits []limit // by id
	people access.SecondPerson
	leaks  bool // an API key was reported as compromised, of any workspace

	services rail.Services // of the sandbox
	stopped  []string      // the modes in which sending is stopped
}

func (s *Service) guard(q db.Q, workspaceID string) (g guard, err error) {
	epoch := s.db.Epoch()
	if known, ok := s.guards.GetIfPresent(workspaceID); ok && known.epoch == epoch {
		return known, nil
	}
	if g, err = s.readGuard(q, workspaceID); err != nil {
		return g, err
	}
	g.epoch = epoch
	s.guards.Set(workspaceID, g)
	return g, nil
}

// Services returns the services of a workspace's sandbox.
func (s *Service) Services(q db.Q, workspaceID string) (rail.Services, error) {
	g, err := s.guard(q, workspaceID)
	return g.services, err
}

// Stopped reports whether sending is stopped in a workspace and mode.
func (s *Service) Stopped(q db.Q, workspaceID, mode string) (bool, error) {
	g, err := s.guard(q, workspaceID)
	return slices.Contains(g.stopped, mode), err
}

func (s *Service) readGuard(q db.Q, workspaceID string) (g guard, err error) {
	all, err := s.rulesOf(q, workspaceID, "", "", maxOfEach)
	if err != nil {
		return g, err
	}
	for _, one := range all {
		if one.SuspendedBecause == api.RuleMadeAlone {
			g.alone = append(g.alone, one)
		}
		if one.guards() {
			one.KeysMayApprove = one.demand().KeysMayApprove // only two people can let API keys approve
			one.Status = api.RuleActive
			g.rules = append(g.rules, one)
		}
		if one.bySum() && one.Status != api.RulePending {
			g.sums = append(g.sums, sumOf(one))
		}
	}
	if g.limits, err = s.limitsOf(q, workspaceID, "", "", maxOfEach); err != nil {
		return g, err
	}
	if g.people, err = access.FindSecondPerson(q, access.Payouts, workspaceID, s.db.Now()); err != nil {
		return g, err
	}
	if g.leaks, err = anyLeaked(q); err != nil {
		return g, err
	}
	if g.services, err = rail.Simulated(q, workspaceID); err != nil {
		return g, err
	}
	g.stopped, err = db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT mode FROM payout_stop WHERE workspace_id = $1 AND stopped_at > 0`, workspaceID)
	return g, err
}

// lockGuard serializes changes of the rules and limits of a workspace.
func lockGuard(tx *db.Tx, workspaceID string) error {
	_, err := tx.Row(`UPDATE workspace SET member_version = member_version WHERE id = $1 RETURNING id`, workspaceID).Scan(new(string))
	return err
}

// found returns a fault unless the object named by a rule or a limit belongs to the workspace.
func found(q db.Q, what, id, sql string, args ...any) error {
	if id == "" {
		return nil
	}
	is, err := q.Row(sql, args...).Scan(new(string))
	if err == nil && !is {
		err = fault.Missing(what)
	}
	return err
}

// inMode reports whether a rule or a limit for a mode, or for both, applies to payouts of a mode.
func inMode(guard, mode string) bool { return guard == api.GuardBothModes || guard == mode }

// meet reports whether there is a mode in which two rules or limits both apply.
func meet(guard, other string) bool { return inMode(guard, other) || other == api.GuardBothModes }

// modesOf lists the modes in which a rule or a limit applies.
func modesOf(guard string) []string {
	if guard == api.GuardBothModes {
		return []string{api.ModeSandbox, api.ModeLive}
	}
	return []string{guard}
}

// onlyMode returns the one mode in which a rule or a limit applies, "" if it is both.
func onlyMode(guard string) string {
	if guard == api.GuardBothModes {
		return ""
	}
	return guard
}

// modeText returns the words about the mode that complete a sentence about a rule or a limit.
func modeText(mode string) string {
	if mode == api.GuardBothModes {
		return ""
	}
	return " of " + mode + " payouts"
}

// foundAccount returns a fault unless an account belongs to the workspace and has the mode. It returns the currency of the account.
func foundAccount(q db.Q, workspaceID, id, mode string) (currency string, err error) {
	if id == "" {
		return "", nil
	}
	a, err := ledger.FindAccount(q, id)
	if err == nil && a.WorkspaceID != workspaceID {
		err = fault.Missing("account")
	}
	if err == nil && !inMode(mode, a.Mode) {
		err = fault.Invalid("mode", "must be that of the account, which is "+a.Mode+", or both")
	}
	return a.Currency, err
}

// accountCurrency is a column: the currency of the account that a rule or a limit names.
const accountCurrency = `(SELECT a.currency FROM ledger_account a WHERE a.id = account_id)`

// meant returns the currency of the amounts of a rule or a limit. It is that of its account, of its rail or of all rails, "" if those have
// several.
func (s *Service) meant(ofAccount, railName string) (currency string) {
	if ofAccount != "" {
		return ofAccount
	}
	for _, one := range s.rails.All() {
		switch {
		case railName != "" && one.Name != railName:
		case currency != "" && currency != one.Currency:
			return ""
		default:
			currency = one.Currency
		}
	}
	return currency
}

// foundRail returns a fault unless there is a rail of a name, live or in the sandbox.
func (s *Service) foundRail(name string) error {
	if name == "" || s.rails.Named(name, false) != nil || s.rails.Named(name, true) != nil {
		return nil
	}
	var names []string
	for _, one := range s.rails.All() {
		if !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	return fault.Invalid("rail", "must be one of "+strings.Join(names, ", "))
}
