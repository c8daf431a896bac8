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

// lineFlags are reasons why an approver should look at a line.
type lineFlags struct{ newPayee, shared, changed, nameDiffers bool }

func (f lineFlags) names() []string {
	list := []string{}
	for _, flag := range api.ApprovalFlags() {
		if map[string]bool{api.FlagNewPayee: f.newPayee, api.FlagSharedAccount: f.shared, api.FlagChanged: f.changed, api.FlagNameDiffers: f.nameDiffers}[flag] {
			list = append(list, flag)
		}
	}
	return list
}

// flagColumns are the columns of the flags.
var flagColumns = map[string]string{
	api.FlagNewPayee: "new_payee", api.FlagSharedAccount: "shared_account", api.FlagChanged: "changed", api.FlagNameDiffers: "name_differs",
}

// importLine is a row of the lines that need a second person, whose payload is still sealed.
type importLine struct {
	id       string
	importID string
	line     int64
	kind     string // of the change, as the kind of its own approval would be
	subject  string
	version  int64
	entryID  string
	state    string
	flags    lineFlags
	sealed   []byte
}

const lineColumns = `id, import_id, line, kind, subject_id, subject_version, entry_id, state, new_payee, shared_account, changed, name_differs, payload_sealed
	FROM directory_import_line`

func readLine(r db.Rows) importLine {
	return importLine{id: r.Text(0), importID: r.Text(1), line: r.Int(2), kind: r.Text(3), subject: r.Text(4), version: r.Int(5), entryID: r.Text(6), state: r.Text(7),
		flags: lineFlags{newPayee: r.Bool(8), shared: r.Bool(9), changed: r.Bool(10), nameDiffers: r.Bool(11)}, sealed: slices.Clone(r.Raw(12))}
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
	text, err := s.vault.Open(workspace, vault.ImportLine(l.id), l.sealed)
	if errors.Is(err, vault.ErrLost) {
		return lineChange{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read the line %s of an import: %w", l.id, err)
	}
	return c, nil
}

// addMethodLine makes a change of a receiving method a line of the job's approval.
func (s *Service) addMethodLine(tx *db.Tx, e entry, methods []api.ReceivingMethod, c methodChange, version int64) error {
	flags, err := s.lines.flagsOf(tx, e, methods, c)
	if err == nil {
		_, err = s.addLine(tx, e, importLine{kind: methodKind, subject: c.Method.ID, version: version, flags: flags}, lineChange{Method: &c})
	}
	return err
}

// addIdentityLine makes a change of the identity of an entry a line of the job's approval, and returns its id.
func (s *Service) addIdentityLine(tx *db.Tx, e entry, c identityChange) (string, error) {
	flags, own := lineFlags{changed: true}, c.of(e).nameKey()
	for _, m := range c.Methods {
		flags.nameDiffers = flags.nameDiffers || own != nil && own != db.NameKey(m.AccountName, "", nil)
	}
	return s.addLine(tx, e, importLine{kind: identityKind, subject: e.ID, version: e.UpdatedAt, flags: flags}, lineChange{Identity: &identityRequest{Label: e.Label, Change: c}})
}

func (s *Service) addLine(tx *db.Tx, e entry, l importLine, c lineChange) (id string, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write a line of an import: %w", err)
	}
	id = tx.NewID("iml")
	sealed, err := s.vault.Seal(e.workspace, vault.ImportLine(id), text)
	if err != nil {
		return "", err
	}
	return id, tx.Exec(`INSERT INTO directory_import_line (id, import_id, line, kind, subject_id, subject_version, entry_id, state,
			new_payee, shared_account, changed, name_differs, payload_sealed, sealed_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13)`,
		id, s.lines.jobID, s.lines.line, l.kind, l.subject, l.version, e.ID,
		l.flags.newPayee, l.flags.shared, l.flags.changed, l.flags.nameDiffers, sealed, vault.KeyOf(sealed))
}

// flagsOf returns the flags of a line. Other lines of the job that have the same account for other payees get the flag, too.
func (w *lineWriter) flagsOf(tx *db.Tx, e entry, methods []api.ReceivingMethod, c methodChange) (lineFlags, error) {
	approved := slices.ContainsFunc(methods, func(m api.ReceivingMethod) bool { return m.ID != c.Method.ID && m.Status == api.MethodActive })
	own := e.nameKey()
	f := lineFlags{newPayee: !approved && c.Why == "added", changed: approved, nameDiffers: own != nil && own != db.NameKey(c.Method.AccountName, "", nil)}
	lookups := w.finder.Lookups(vault.NormalNumber(c.Method.AccountID))
	if len(lookups) == 0 {
		return f, nil
	}
	var others []string
	err := eachWithAccount(tx.Q, e, lookups, func(r db.Rows) error {
		if id := db.UnpackID("entry", r, 0); id != e.ID && !slices.Contains(others, id) {
			others = append(others, id)
		}
		return nil
	})
	f.shared = len(others) > 0
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
	return f, err
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
		return importLine{importID: r.Text(0), kind: r.Text(1), subject: r.Text(2), id: r.Text(3)}
	}, `UPDATE directory_import_line SET state = 'void' WHERE `+column+` = $1 AND state = 'pending' RETURNING import_id, kind, subject_id, id`, id)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var jobs []string
	for _, l := range lines {
		if l.kind == identityKind {
			if err := dropIdentity(tx, l.subject, l.id); err != nil {
				return nil, err
			}
		}
		jobs = append(jobs, l.importID)
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
		if err == nil && l.kind == methodKind {
			err = setStatus(tx, l.subject, api.MethodRejected)
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
