package directory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/vault"
)

// lineWriter is set in a copy of the service that applies the rows of an import or a bulk. A change that needs a second person becomes a line
// of the job's approval, which is requested when the job ends. Until then no line of it can be approved.
type lineWriter struct {
	jobID  string
	finder *vault.Finder // finds the account numbers of the workspace
	line   int64         // the line of the file that is being applied
}

// forJob returns a copy of the service that works for an import or a bulk.
func (s *Service) forJob(jobID string, finder *vault.Finder) *Service {
	mine := *s
	mine.lines = &lineWriter{jobID: jobID, finder: finder}
	return &mine
}

// at records which row is being applied.
func (s *Service) at(row *entryfile.Row) {
	if s.lines != nil {
		s.lines.line = int64(row.Line)
	}
}

// flagColumns are the columns of the flags.
var flagColumns = map[string]string{
	api.FlagNewPayee: "new_payee", api.FlagSharedAccount: "shared_account", api.FlagChanged: "changed", api.FlagNameDiffers: "name_differs",
}

// importLine is a row of the lines that need a second person. The flags are reasons why an approver should look at it.
type importLine struct {
	ID            string `db:"id"`
	JobID         string `db:"import_id"`
	Line          int64  `db:"line"`
	Kind          string `db:"kind"` // of the change, as the kind of its own approval would be
	Subject       string `db:"subject_id"`
	Version       int64  `db:"subject_version"`
	EntryID       string `db:"entry_id"`
	State         string `db:"state"`
	NewPayee      bool   `db:"new_payee"`
	SharedAccount bool   `db:"shared_account"`
	Changed       bool   `db:"changed"`
	NameDiffers   bool   `db:"name_differs"`
	Sealed        []byte `db:"payload_sealed"`
}

var (
	lineColumns = db.Select[importLine]("directory_import_line", nil)
	newLine     = db.InsertInto("directory_import_line",
		db.Derived[importLine]{Column: "sealed_by", Of: func(l *importLine) any { return vault.KeyOf(l.Sealed) }})
)

// flags returns the names of the flags.
func (l importLine) flags() []string {
	set := map[string]bool{
		api.FlagNewPayee: l.NewPayee, api.FlagSharedAccount: l.SharedAccount, api.FlagChanged: l.Changed, api.FlagNameDiffers: l.NameDiffers,
	}
	return slices.DeleteFunc(api.ApprovalFlags(), func(flag string) bool { return !set[flag] })
}

// lineChange is what a line changes: a receiving method, or the identity of its entry.
type lineChange struct {
	Method   *methodChange    `json:"method,omitzero"`
	Identity *identityRequest `json:"identity,omitzero"`
}

// label returns the label of the payee at the time of the request.
func (c lineChange) label() string {
	switch {
	case c.Method != nil:
		return c.Method.EntryLabel
	case c.Identity != nil:
		return c.Identity.Label
	}
	return ""
}

// show returns old and new values, with account numbers in full.
func (c lineChange) show() []api.ApprovalField {
	fields := []api.ApprovalField{}
	switch {
	case c.Method != nil:
		_, fields = c.Method.show(true)
	case c.Identity != nil:
		_, fields = c.Identity.show(true)
	}
	return fields
}

// openLine opens the change of a line: nothing if its key is lost. It may read a key from the store: see openMethods.
func (s *Service) openLine(workspace int64, l importLine) (c lineChange, err error) {
	text, err := s.vault.Open(workspace, vault.ImportLine(l.ID), l.Sealed)
	if errors.Is(err, vault.ErrLost) {
		return lineChange{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read the line %s of an import: %w", l.ID, err)
	}
	return c, nil
}

// addMethodLine makes a change of a receiving method a line of the job's approval.
func (s *Service) addMethodLine(tx *db.Tx, e entry, methods []api.ReceivingMethod, c methodChange, version int64) error {
	l, err := s.lines.flagged(tx, e, methods, c)
	if err == nil {
		l.Kind, l.Subject, l.Version = methodKind, c.Method.ID, version
		_, err = s.addLine(tx, e, l, lineChange{Method: &c})
	}
	return err
}

// addIdentityLine makes a change of the identity of an entry a line of the job's approval, and returns its id.
func (s *Service) addIdentityLine(tx *db.Tx, e entry, c identityChange) (string, error) {
	l, own := importLine{Kind: identityKind, Subject: e.ID, Version: e.UpdatedAt, Changed: true}, c.of(e).nameKey()
	for _, m := range c.Methods {
		l.NameDiffers = l.NameDiffers || own != nil && own != db.NameKey(m.AccountName, "", nil)
	}
	return s.addLine(tx, e, l, lineChange{Identity: &identityRequest{Label: e.Label, Change: c}})
}

func (s *Service) addLine(tx *db.Tx, e entry, l importLine, c lineChange) (id string, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write a line of an import: %w", err)
	}
	l.ID, l.JobID, l.Line, l.EntryID, l.State = tx.NewID("iml"), s.lines.jobID, s.lines.line, e.ID, api.ApprovalPending
	if l.Sealed, err = s.vault.Seal(e.workspace, vault.ImportLine(l.ID), text); err != nil {
		return "", err
	}
	return l.ID, newLine.Insert(tx, &l)
}

// flagged returns a line with its flags. Other lines of the job that have the same account for other payees get the flag, too.
func (w *lineWriter) flagged(tx *db.Tx, e entry, methods []api.ReceivingMethod, c methodChange) (importLine, error) {
	approved := slices.ContainsFunc(methods, func(m api.ReceivingMethod) bool { return m.ID != c.Method.ID && m.Status == api.MethodActive })
	own := e.nameKey()
	l := importLine{NewPayee: !approved && c.Why == "added", Changed: approved}
	l.NameDiffers = own != nil && own != db.NameKey(c.Method.AccountName, "", nil)
	lookups := w.finder.Lookups(vault.NormalNumber(c.Method.AccountID))
	if len(lookups) == 0 {
		return l, nil
	}
	var others []string
	err := eachWithAccount(tx.Q, e, lookups, func(r db.Rows) error {
		if id := db.UnpackID("entry", r, 0); id != e.ID && !slices.Contains(others, id) {
			others = append(others, id)
		}
		return nil
	})
	l.SharedAccount = len(others) > 0
	for _, other := range others {
		if err != nil {
			break
		}
		sql := db.NewStatement(`UPDATE directory_import_line SET shared_account = TRUE WHERE import_id = `, w.jobID)
		sql.Add(` AND entry_id = `, other)
		sql.Add(` AND state = 'pending' AND shared_account = FALSE AND subject_id IN (SELECT id FROM receiving_method WHERE entry_id = `, stored(other))
		sql.AddList(` AND account_key IN (`, db.Args(lookups))
		sql.Add(`)`)
		err = tx.ExecOf(sql)
	}
	return l, err
}

// voidMethod ends what a receiving method waits for: its own approval, or its line in that of a job. It reports whether there was one. The
// caller has locked the entry.
func (s *Service) voidMethod(tx *db.Tx, by db.Caller, methodID, why string) (bool, error) {
	voided, err := s.approvals.Void(tx, by, methodID, why)
	if err != nil {
		return voided, err
	}
	lines, err := dropLines(tx, "subject_id", methodID)
	return voided || len(lines) > 0, err
}

// dropLines takes pending lines out of the approvals of their jobs, by the column id, entry_id or subject_id. The rest of each stays.
func dropLines(tx *db.Tx, column, id string) ([]importLine, error) {
	lines, err := db.Collect(tx.Q, func(r db.Rows) importLine {
		return importLine{JobID: r.Text(0), Kind: r.Text(1), Subject: r.Text(2), ID: r.Text(3)}
	}, `UPDATE directory_import_line SET state = 'void' WHERE `+column+` = $1 AND state = 'pending' RETURNING import_id, kind, subject_id, id`, id)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var jobs []string
	for _, l := range lines {
		if l.Kind == identityKind {
			if err := dropIdentity(tx, l.Subject, l.ID); err != nil {
				return nil, err
			}
		}
		jobs = append(jobs, l.JobID)
	}
	slices.Sort(jobs)
	for _, id := range slices.Compact(jobs) {
		err := approval.Shrink(tx, id, func() (bool, error) {
			return tx.Row(`SELECT id FROM directory_import_line WHERE import_id = $1 AND state = 'pending' LIMIT 1`, id).Scan(new(string))
		})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// renamed drops the lines of an entry from the approvals of jobs, because the identity of the payee that they were shown with has changed.
// It also ends their receiving methods.
func renamed(tx *db.Tx, e entry) error {
	lines, err := dropLines(tx, "entry_id", e.ID)
	for _, l := range lines {
		if err == nil && l.Kind == methodKind {
			err = setStatus(tx, l.Subject, api.MethodRejected)
		}
	}
	return err
}

// pendingLines returns the approvals of jobs that receiving methods of an entry wait for, by method; "" before the job has ended.
func pendingLines(q db.Q, entryID string) (map[string]string, error) {
	found := map[string]string{}
	err := q.Each(func(r db.Rows) error {
		found[r.Text(0)] = r.Text(1)
		return nil
	}, `SELECT l.subject_id, COALESCE((SELECT max(a.id) FROM approval a WHERE a.subject_id = l.import_id), '')
		FROM directory_import_line l WHERE l.entry_id = $1 AND l.state = 'pending'`, entryID)
	return found, err
}

// involvedInLines lists the accounts that have a part in the jobs that requested receiving methods.
func involvedInLines(q db.Q, methodIDs []string) (accounts []string, err error) {
	for _, id := range methodIDs {
		lines, err := db.Collect(q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM directory_import_line WHERE subject_id = $1`, id)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			some, err := involvedInLine(q, line)
			if err != nil {
				return nil, err
			}
			accounts = append(accounts, some...)
		}
	}
	return accounts, nil
}

// isLine reports whether an identity waits for a line of a job.
func isLine(approvalID string) bool { return strings.HasPrefix(approvalID, "iml_") }

// involvedInLine lists the accounts that have a part in the job of a line: in its approval or, while it has none, in the job itself.
func involvedInLine(q db.Q, lineID string) ([]string, error) {
	var job, actor, options string
	_, err := q.Row(`SELECT l.import_id, COALESCE(i.actor, ''), COALESCE(i.options, '')
		FROM directory_import_line l LEFT JOIN directory_import i ON i.id = l.import_id WHERE l.id = $1`, lineID).Scan(&job, &actor, &options)
	if err != nil {
		return nil, err
	}
	involved, err := approval.InvolvedAbout(q, job)
	if err != nil || len(involved) > 0 || actor == "" {
		return involved, err
	}
	var by audit.Actor
	var with struct{ Behind []string }
	if err := errors.Join(json.Unmarshal([]byte(actor), &by), json.Unmarshal([]byte(options), &with)); err != nil {
		return nil, fmt.Errorf("read who asked for %s: %w", job, err)
	}
	involved, err = approval.Involved(q, by)
	return append(involved, with.Behind...), err
}

// forgetLines deletes the lines about an entry that was permanently removed.
func forgetLines(tx *db.Tx, entryID string) error {
	return tx.Exec(`DELETE FROM directory_import_line WHERE entry_id = $1`, entryID)
}
