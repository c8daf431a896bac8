package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// mailsTo bounds how often a user is mailed about approvals of a workspace.
var mailsTo = budget.Kind{Name: "mails about approvals, by account and workspace", Burst: 5, Every: 20 * time.Minute}

// tellBatch is how many approvals are read at a time.
const tellBatch = 100

// Notify mails those who may approve what waits for them, one mail for everything new in a workspace. It also mails requesters how their
// requests ended. It runs in the background, so that an import of thousands of methods sends a few mails.
func (s *Service) Notify(ctx context.Context) error {
	for {
		news, err := s.unnotified(ctx)
		if err != nil || len(news) == 0 {
			return err
		}
		_, err = db.Write(ctx, s.db, db.Caller{}, func(tx *db.Tx) (struct{}, audit.Event, error) {
			var first []unnotified // of these, no other node was first
			for _, a := range news {
				mine, err := tx.Row(`UPDATE approval SET told = state WHERE id = $1 AND state = $2 AND told <> state RETURNING id`, a.ID, a.State).Scan(new(string))
				if err != nil {
					return struct{}{}, audit.Event{}, err
				}
				if mine {
					first = append(first, a)
				}
			}
			return struct{}{}, audit.None("a mail changes nothing"), s.mailAll(tx, first)
		})
		if err != nil {
			return err
		}
	}
}

// unnotified is an approval whose current state was not mailed yet.
type unnotified struct {
	Approval
	deciders []string // while it is pending
}

// unnotified finds the approvals to notify about, and the recipients. It leaves payloads sealed, which no mail shows: one that cannot be opened
// must not delay mails about others.
func (s *Service) unnotified(ctx context.Context) (news []unnotified, err error) {
	err = s.db.Read(ctx, func(q db.Q) error {
		rows, err := db.Collect(q, readRow, `SELECT `+columns+` WHERE a.told <> a.state AND a.id > $1 ORDER BY a.id LIMIT $2`, "", tellBatch)
		news = make([]unnotified, len(rows))
		for i, r := range rows {
			if err == nil {
				err = json.Unmarshal([]byte(r.MakerText), &r.Maker)
			}
			news[i].Approval = r.Approval
			if err == nil && r.State == api.ApprovalPending && s.mail.Configured() {
				news[i].deciders, err = s.mayDecide(q, r.Approval, s.db.Now())
			}
		}
		return err
	})
	return news, err
}

func (s *Service) mailAll(tx *db.Tx, news []unnotified) error {
	if !s.mail.Configured() {
		return nil
	}
	type reader struct{ workspaceID, userID string }
	waiting := map[reader]mail.ApprovalsWait{}
	var readers []reader
	for _, a := range news {
		if a.State != api.ApprovalPending {
			if err := s.tellMaker(tx, a.Approval); err != nil {
				return err
			}
			continue
		}
		for _, id := range a.deciders {
			key, noun := reader{a.WorkspaceID, id}, s.kinds[a.Kind].Mail
			m := waiting[key]
			if m.Count == 0 {
				readers = append(readers, key)
			} else if m.What != noun {
				noun = mail.ARequest
			}
			m.Count, m.What = m.Count+1, noun
			waiting[key] = m
		}
	}
	for _, r := range readers {
		m := waiting[r]
		err := s.Mail(tx, r.workspaceID, r.userID, func(email, workspace, page string) mail.Message {
			m.To, m.Workspace, m.Link = email, workspace, page+"/approvals"
			return m.Message()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) tellMaker(tx *db.Tx, a Approval) error {
	if a.Maker.Type == string(audit.Client) {
		return nil
	}
	return s.Mail(tx, a.WorkspaceID, a.Maker.ID, func(email, workspace, page string) mail.Message {
		m := mail.ApprovalDecided{To: email, Workspace: workspace, What: s.kinds[a.Kind].Mail, State: a.State, Reason: a.Reason, Link: page + "/approvals/" + a.ID}
		if a.decider != nil {
			m.Decider = a.decider.Name
		}
		return m.Message()
	})
}

// Approvers returns who may approve a pending approval, according to its row, if mail is configured.
func (s *Service) Approvers(q db.Q, id string) ([]string, error) {
	if !s.mail.Configured() {
		return nil, nil
	}
	r, err := findRow(q, s.db.Integrity(), id)
	if err != nil {
		return nil, err
	}
	return s.mayDecide(q, r.Approval, s.db.Now())
}

// Mail mails a user, if it is still a member of the workspace, within its budget and unless the queue is full. The link leads to the
// page of the workspace, which shows what was not mailed.
func (s *Service) Mail(tx *db.Tx, workspaceID, userID string, message func(email, workspace, page string) mail.Message) error {
	if !s.mail.Configured() {
		return nil
	}
	var email, workspace string
	_, err := tx.Row(`SELECT a.email, w.name FROM live_member l JOIN account a ON a.id = l.account_id JOIN workspace w ON w.id = l.workspace_id
		WHERE l.workspace_id = $1 AND l.account_id = $2 AND a.status = 'active'`, workspaceID, userID).Scan(&email, &workspace)
	if err != nil || email == "" {
		return err
	}
	if err = s.budgets.Take(tx, mailsTo.Of(userID+" "+workspaceID)); err == nil {
		err = s.mail.Queue(tx, mail.Notices, message(email, workspace, s.publicURL+"/w/"+workspaceID))
	}
	var limited *fault.Fault
	if errors.As(err, &limited) || errors.Is(err, mail.ErrFull) {
		return nil
	}
	return err
}
