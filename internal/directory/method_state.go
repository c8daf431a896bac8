package directory

import (
	"bytes"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/db"
	"bursar/internal/fault"
)

// storedMethod is a row: the state at a time follows from it.
type storedMethod struct {
	api.ReceivingMethod
	sealed       []byte
	defaultSince int64  // 0 if it was never the default
	was          string // the stored status
}

// settle computes the state of methods at a time, and puts a successor at the place of what it replaces. A method that can be paid has
// retired those that it replaces, and inherits that they were the default. The default is the method that can be paid and was chosen last.
func settle(list []storedMethod, now int64) {
	at := map[string]int{}
	for i, m := range list {
		at[m.ID] = i
	}
	for i := range list {
		m := &list[i]
		if !payable(m.ReceivingMethod, now) {
			continue
		}
		for before, seen := m.Replaces, 0; before != "" && seen < len(list); seen++ {
			j, found := at[before]
			if !found {
				break
			}
			if list[j].Status == api.MethodActive {
				list[j].Status = api.MethodRetired
			}
			if list[j].defaultSince <= now {
				m.defaultSince = max(m.defaultSince, list[j].defaultSince)
			}
			before = list[j].Replaces
		}
	}
	chosen := -1
	for i, m := range list {
		if payable(m.ReceivingMethod, now) && m.defaultSince > 0 && m.defaultSince <= now && (chosen < 0 || m.defaultSince >= list[chosen].defaultSince) {
			chosen = i
		}
	}
	if chosen >= 0 {
		list[chosen].IsDefault = true
	}
	byRoot(list)
}

const methodColumns = `id, provider, account_name, account_sealed, status, institution_code, replaces, payable_at, default_since`

func readMethod(r db.Rows) storedMethod {
	return storedMethod{ReceivingMethod: api.ReceivingMethod{ID: r.Text(0), Provider: r.Text(1), AccountName: r.Text(2), Status: r.Text(4),
		InstitutionCode: r.Text(5), Replaces: r.Text(6), PayableAt: r.Int(7)}, sealed: bytes.Clone(r.Raw(3)), defaultSince: r.Int(8), was: r.Text(4)}
}

// loadMethods reads every method of an entry, oldest first, and computes the current state.
func (s *Service) loadMethods(q db.Q, e entry) ([]storedMethod, error) {
	list, err := db.Collect(q, readMethod, `SELECT `+methodColumns+` FROM receiving_method WHERE entry_id = $1 ORDER BY id`, stored(e.ID))
	settle(list, s.db.Now())
	return list, err
}

// byRoot puts a successor at the place of what it replaces.
func byRoot(list []storedMethod) {
	replaces := map[string]string{}
	for _, m := range list {
		replaces[m.ID] = m.Replaces
	}
	root := func(id string) string {
		for range list {
			if before, known := replaces[id]; known && before != "" {
				id = before
			}
		}
		return id
	}
	slices.SortStableFunc(list, func(a, b storedMethod) int { return strings.Compare(root(a.ID), root(b.ID)) })
}

// withApprovals is loadMethods with the approvals that the methods wait for.
func (s *Service) withApprovals(q db.Q, e entry) ([]storedMethod, error) {
	list, err := s.loadMethods(q, e)
	if err != nil {
		return nil, err
	}
	pending, err := approval.Pending(q, e.ID)
	var lines map[string]string
	for i, m := range list {
		list[i].ApprovalID = pending[m.ID]
		if m.Status != api.MethodPending || list[i].ApprovalID != "" || err != nil {
			continue
		}
		if lines == nil { // it was added by a file
			lines, err = pendingLines(q, e.ID)
		}
		list[i].ApprovalID = lines[m.ID]
	}
	return list, err
}

// allMethods returns every method of an entry to a transaction.
func (s *Service) allMethods(q db.Q, e entry) ([]api.ReceivingMethod, error) {
	list, err := s.withApprovals(q, e)
	if err != nil {
		return nil, err
	}
	return s.openMethods(e, list)
}

// live returns those of the methods that are payable or may become so.
func live(methods []api.ReceivingMethod) []api.ReceivingMethod {
	return slices.DeleteFunc(slices.Clone(methods), ended)
}

func ended(m api.ReceivingMethod) bool {
	return m.Status == api.MethodRetired || m.Status == api.MethodRejected
}

// onlyActive returns those of the methods that are payable or cooling.
func onlyActive(methods []api.ReceivingMethod) []api.ReceivingMethod {
	return slices.DeleteFunc(slices.Clone(methods), func(m api.ReceivingMethod) bool { return m.Status != api.MethodActive })
}

// paid returns the methods of an entry that can be paid.
func (s *Service) paid(q db.Q, e entry) ([]storedMethod, error) {
	list, err := s.loadMethods(q, e)
	return onlyPayable(list, s.db.Now()), err
}

func onlyPayable(list []storedMethod, now int64) []storedMethod {
	return slices.DeleteFunc(list, func(m storedMethod) bool { return !payable(m.ReceivingMethod, now) })
}

// lockedMethods is allMethods for a transaction that is about to change them. It first stores the retirement of methods that a successor
// has replaced, so that they stay retired whatever happens to the successor. Methods that ended long ago are deleted, unless a successor
// needs them to determine what it retires.
func (s *Service) lockedMethods(tx *db.Tx, e entry) ([]api.ReceivingMethod, error) {
	list, err := s.loadMethods(tx.Q, e)
	for _, m := range list {
		if err == nil && m.Status != m.was {
			err = setStatus(tx, m.ID, m.Status)
		}
	}
	if err != nil {
		return nil, err
	}
	methods, err := s.allMethods(tx.Q, e)
	old := slices.DeleteFunc(slices.Clone(methods), func(m api.ReceivingMethod) bool {
		return !ended(m) || slices.ContainsFunc(methods, func(after api.ReceivingMethod) bool {
			return after.Status == api.MethodPending && chained(methods, after, m.ID)
		})
	})
	for i := 0; i < len(old)-maxEnded && err == nil; i++ {
		err = tx.Exec(`DELETE FROM receiving_method WHERE id = $1`, old[i].ID)
	}
	return methods, err
}

// chained reports whether a method succeeds another, with others in between or not.
func chained(methods []api.ReceivingMethod, after api.ReceivingMethod, id string) bool {
	for range methods {
		if after.Replaces == id {
			return true
		}
		i := slices.IndexFunc(methods, func(m api.ReceivingMethod) bool { return m.ID == after.Replaces })
		if i < 0 {
			return false
		}
		after = methods[i]
	}
	return false
}

// standIn finds a live method by its id, or by the id of one that it succeeds.
func standIn(methods []api.ReceivingMethod, id string) (api.ReceivingMethod, error) {
	for _, m := range live(methods) {
		if m.ID == id {
			return m, nil
		}
	}
	for _, m := range live(methods) {
		if chained(methods, m, id) {
			return m, nil
		}
	}
	return api.ReceivingMethod{}, fault.Missing("receiving method")
}

// replaced returns the method that a new one replaces: its latest predecessor that was not rejected; an empty one if there is none.
func replaced(methods []api.ReceivingMethod, m api.ReceivingMethod) api.ReceivingMethod {
	for range methods {
		i := slices.IndexFunc(methods, func(before api.ReceivingMethod) bool { return before.ID == m.Replaces })
		if i < 0 {
			break
		}
		if m = methods[i]; m.Status != api.MethodRejected && m.Status != api.MethodPending {
			return m
		}
	}
	return api.ReceivingMethod{}
}

func defaultOf(methods []api.ReceivingMethod) api.ReceivingMethod {
	for _, m := range methods {
		if m.IsDefault {
			return m
		}
	}
	return api.ReceivingMethod{}
}
