package approval

import (
	"context"
	"errors"
	"time"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/budget"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/mail"
)

// mailsTo bounds how often somebody is mailed about approvals of a workspace. The page tells
// what a mail does not.
var mailsTo = budget.Kind{Name: "mails about approvals, by account and workspace", Burst: 5, Every: 20 * time.Minute}

// tellBatch is how many approvals are taken at a time.
const tellBatch = 100

// Tell mails those who may approve what waits for them, one mail for all that is new in a
// workspace, and makers how what they asked for ended. It runs in the background, so that what
// imports thousands of methods sends a few mails.
func (s *Service) Tell(ctx context.Context) error {
	for {
		news, err := s.takeNews(ctx)
		if err != nil || len(news) == 0 {
			return err
		}
		if !s.mail.Configured() {
			continue
		}
		waiting := map[[2]string]mail.ApprovalsWait{} // by workspace and person
		for _, a := range news {
			if a.State != api.ApprovalPending {
				if err := s.tellMaker(ctx, a); err != nil {
					return err
				}
				continue
			}
			var people []string
			err := s.db.Read(ctx, func(q db.Q) (err error) {
				people, err = s.mayDecide(q, a, s.db.Now())
				return err
			})
			if err != nil {
				return err
			}
			for _, id := range people {
				key, noun := [2]string{a.WorkspaceID, id}, s.kinds[a.Kind].Mail
				m := waiting[key]
				if m.Count > 0 && m.What != noun {
					noun = mail.ARequest
				}
				m.Count, m.What = m.Count+1, noun
				waiting[key] = m
			}
		}
		for who, m := range waiting {
			m.Link = s.publicURL + "/w/" + who[0] + "/approvals"
			err := s.send(ctx, who[0], who[1], func(email, workspace string) mail.Message {
				m.To, m.Workspace = email, workspace
				return m.Message()
			})
			if err != nil {
				return err
			}
		}
	}
}

// takeNews marks approvals as told whose state nobody was told of, and returns them. What is
// not mailed because the process ends is on the page.
func (s *Service) takeNews(ctx context.Context) ([]Approval, error) {
	var rows []row
	load := func(q db.Q) (err error) {
		rows, err = db.Collect(q, readRow, `SELECT `+columns+` WHERE a.told <> a.state AND a.id > $1 ORDER BY a.id LIMIT $2`, "", tellBatch)
		return err
	}
	if err := s.db.Read(ctx, load); err != nil || len(rows) == 0 {
		return nil, err
	}
	var news []Approval
	taken, err := db.Write(ctx, s.db, db.Caller{}, func(tx *db.Tx) ([]row, audit.Event, error) {
		var taken []row
		for _, r := range rows {
			first, err := tx.Row(`UPDATE approval SET told = state WHERE id = $1 AND state = $2 AND told <> state RETURNING id`, r.ID, r.State).Scan(new(string))
			if err != nil {
				return nil, audit.Event{}, err
			}
			if first {
				taken = append(taken, r)
			}
		}
		return taken, audit.None("a mail changes nothing"), nil
	})
	for _, r := range taken {
		if err == nil {
			var a Approval
			a, err = s.open(r)
			news = append(news, a)
		}
	}
	return news, err
}

func (s *Service) tellMaker(ctx context.Context, a Approval) error {
	if a.Maker.Type == string(audit.Client) {
		return nil
	}
	return s.send(ctx, a.WorkspaceID, a.Maker.ID, func(email, workspace string) mail.Message {
		m := mail.ApprovalDecided{To: email, Workspace: workspace, What: s.kinds[a.Kind].Mail, State: a.State, Reason: a.reason, Link: s.publicURL + "/w/" + a.WorkspaceID + "/approvals/" + a.ID}
		if a.decider != nil {
			m.Decider = a.decider.Name
		}
		return m.Message()
	})
}

// send mails an account, if it still may hear of the workspace.
func (s *Service) send(ctx context.Context, workspaceID, accountID string, message func(email, workspace string) mail.Message) error {
	var email, workspace string
	err := s.db.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT a.email, w.name FROM live_member l JOIN account a ON a.id = l.account_id JOIN workspace w ON w.id = l.workspace_id
			WHERE l.workspace_id = $1 AND l.account_id = $2 AND a.status = 'active'`, workspaceID, accountID).Scan(&email, &workspace)
		return err
	})
	if err != nil || email == "" {
		return err
	}
	var limited *fault.Fault
	if err := s.budgets.Spend(ctx, mailsTo.Of(accountID+" "+workspaceID)); errors.As(err, &limited) {
		return nil // they have been told often enough
	} else if err != nil {
		return err
	}
	place := s.mail.Place(mail.Notices)
	defer place.Release()
	place.Send(message(email, workspace))
	return nil
}
