package payout

import (
	"cmp"
	"context"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/approval"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/mail"
	"bursar/internal/rail"
	"bursar/internal/web"
)

// People stop sending in a workspace and mode. One person who may create or approve payouts suffices, and nothing more is claimed. Live
// payouts are sent again after two people agreed, where there are two. A stop voids a resume that waits.

// SendingInput names a workspace.
type SendingInput struct {
	ID string `path:"id"`
}

// StopInput is a request to stop sending in a workspace.
type StopInput struct {
	ID string `path:"id"`
	api.PayoutStopRequest
}

// Validate checks the texts without reading the database.
func (in *StopInput) Validate(v *fault.Violations) {
	web.CheckText(v, "reason", in.Reason, 1, maxReason)
	web.CheckOneOf(v, "mode", in.Mode, api.ModeLive, api.ModeSandbox)
}

// ResumeInput is a request to resume sending.
type ResumeInput struct {
	ID string `path:"id"`
	api.PayoutResumeRequest
}

// Validate checks the mode.
func (in *ResumeInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "mode", in.Mode, api.ModeLive, api.ModeSandbox)
}

// stop is a row of the table payout_stop.
type stop struct {
	mode    string
	at      int64 // 0 if payouts are sent
	reason  string
	version int64
}

// stoppable returns the modes of a request, in the order in which their rows are locked.
func stoppable(given *string) []string {
	if given != nil {
		return []string{*given}
	}
	return []string{api.ModeLive, api.ModeSandbox}
}

// lockStop reads the row of a mode and locks it until the transaction ends.
func lockStop(tx *db.Tx, workspaceID, mode string) (stop, error) {
	s := stop{mode: mode}
	_, err := tx.Row(`INSERT INTO payout_stop (workspace_id, mode, stopped_at, stopped_by, reason, version) VALUES ($1, $2, 0, '', '', 0)
		ON CONFLICT (workspace_id, mode) DO UPDATE SET version = payout_stop.version RETURNING stopped_at, reason, version`,
		workspaceID, mode).Scan(&s.at, &s.reason, &s.version)
	return s, err
}

// enterSending requires that the caller may create or approve payouts, and readies the vault for an approval. It reports whether the
// caller may approve them.
func (s *Service) enterSending(ctx context.Context, by db.Caller, workspaceID string) (number int64, decides bool, err error) {
	held, err := s.authority.Permissions(ctx, by.Actor, workspaceID)
	if err != nil {
		return 0, false, err
	}
	need := access.PayoutsCreate
	if decides = held.Has(access.PayoutsApprove); decides {
		need = access.PayoutsApprove
	}
	if number, err = s.authority.Enter(ctx, by.Actor, workspaceID, need); err == nil {
		err = s.vault.Ready(ctx, number)
	}
	return number, decides, err
}

// Sending returns whether sending is stopped in a workspace.
func (s *Service) Sending(ctx context.Context, by db.Caller, in SendingInput) (out api.PayoutSending, err error) {
	if err := s.authority.RequireInWorkspace(ctx, by.Actor, in.ID, access.PayoutsRead); err != nil {
		return out, err
	}
	err = s.db.Read(ctx, func(q db.Q) error {
		out, err = readSending(q, in.ID)
		return err
	})
	return out, err
}

func readSending(q db.Q, workspaceID string) (api.PayoutSending, error) {
	out := api.PayoutSending{WorkspaceID: workspaceID}
	err := q.Each(func(r db.Rows) error {
		one := api.PayoutStop{Stopped: true, StoppedAt: r.Int(1), Reason: r.Text(2), StoppedBy: &api.User{ID: r.Text(3), Email: r.Text(4), Name: r.Text(5)}}
		if r.Text(0) == api.ModeLive {
			out.Live = one
		} else {
			out.Sandbox = one
		}
		return nil
	}, `SELECT s.mode, s.stopped_at, s.reason, s.stopped_by, a.email, a.name FROM payout_stop s LEFT JOIN account a ON a.id = s.stopped_by
		WHERE s.workspace_id = $1 AND s.stopped_at > 0`, workspaceID)
	if err == nil && out.Live.Stopped {
		out.ApprovalID, err = approval.PendingOf(q, resumeKind, workspaceID)
	}
	return out, err
}

// Stop stops sending. A mode that is already stopped keeps the time of its stop.
func (s *Service) Stop(ctx context.Context, by db.Caller, in StopInput) (api.PayoutSending, error) {
	_, _, err := s.enterSending(ctx, by, in.ID)
	if err == nil {
		err = access.RequireMode(by.Actor, in.ID, stoppable(in.Mode)...)
	}
	if err != nil {
		return api.PayoutSending{}, err
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.PayoutSending, audit.Event, error) {
		event := audit.Event{Action: audit.PayoutSendingStopped, WorkspaceID: in.ID, ResourceID: in.ID}
		var stopped []string
		for _, mode := range stoppable(in.Mode) {
			was, err := lockStop(tx, in.ID, mode)
			voided := false
			if err == nil && mode == api.ModeLive {
				voided, err = approval.VoidKind(tx, by, resumeKind, in.ID, "sending was stopped again")
			}
			if err != nil {
				return api.PayoutSending{}, event, err
			}
			if was.at > 0 && was.reason == in.Reason && !voided {
				continue
			}
			if err := tx.Exec(`UPDATE payout_stop SET stopped_at = CASE WHEN stopped_at > 0 THEN stopped_at ELSE $3 END, stopped_by = $4, reason = $5,
					version = version + 1 WHERE workspace_id = $1 AND mode = $2`, in.ID, mode, tx.Now(), by.ID, in.Reason); err != nil {
				return api.PayoutSending{}, event, err
			}
			stopped = append(stopped, mode)
			event.Changes.Add(mode, sendingText(was.at), sendingText(tx.Now()))
			if voided {
				event.Changes.Add("approval", api.ApprovalPending, api.ApprovalVoid)
			}
		}
		event.Description = "Stopped sending " + strings.Join(stopped, " and ") + " payouts"
		event.Changes.Add("reason", nil, in.Reason)
		if len(stopped) == 0 {
			event = audit.None("sending was stopped already")
		}
		out, err := readSending(tx.Q, in.ID)
		return out, event, err
	})
}

// sendingText returns the state of a mode that was stopped at a time, for the audit log.
func sendingText(stoppedAt int64) string {
	if stoppedAt > 0 {
		return "stopped"
	}
	return "sending"
}

// Resume resumes sending. The sandbox takes one person. Live payouts take a second person where there is one: then the fault names the
// approval that waits. It is the same for all who request it, if someone can approve it.
func (s *Service) Resume(ctx context.Context, by db.Caller, in ResumeInput) (api.PayoutSending, error) {
	number, decides, err := s.enterSending(ctx, by, in.ID)
	if err == nil {
		err = access.RequireMode(by.Actor, in.ID, stoppable(in.Mode)...)
	}
	if err != nil {
		return api.PayoutSending{}, err
	}
	defer s.wake()
	out, err := db.Write(ctx, s.db, by, func(tx *db.Tx) (out approval.Outcome[api.PayoutSending], event audit.Event, err error) {
		var events []audit.Event
		for _, mode := range stoppable(in.Mode) {
			waits, event, err := s.resume(tx, by, number, decides, in.ID, mode)
			if err != nil {
				return out, event, err
			}
			out.ApprovalID = cmp.Or(out.ApprovalID, waits)
			if event.Exempt() == "" {
				events = append(events, event)
			}
		}
		if event = audit.All(events...); len(events) == 0 {
			event = audit.None("there was nothing to resume, or it waits already")
		}
		out.Answer, err = readSending(tx.Q, in.ID)
		need := access.PayoutsCreate
		if decides {
			need = access.PayoutsApprove
		}
		return out, event, cmp.Or(err, identity.StillHolds(tx, by, in.ID, need))
	})
	if err != nil {
		return api.PayoutSending{}, err
	}
	return out.Result()
}

// resume lifts the stop of a mode, or returns the approval that this waits for. A caller who may create payouts but not approve them cannot
// resume live ones without an approval.
func (s *Service) resume(tx *db.Tx, by db.Caller, number int64, decides bool, workspaceID, mode string) (waits string, event audit.Event, err error) {
	was, err := lockStop(tx, workspaceID, mode)
	if err != nil || was.at == 0 {
		return "", audit.None("sending is not stopped"), err
	}
	event = audit.Event{Action: audit.PayoutSendingResumed, WorkspaceID: workspaceID, ResourceID: workspaceID, Description: "Resumed sending " + mode + " payouts"}
	event.Changes.Add(mode, sendingText(was.at), sendingText(0))
	if mode == api.ModeLive {
		people, err := access.ObserveSecondPerson(tx, access.Payouts, workspaceID)
		if err != nil {
			return "", event, err
		}
		pending, err := s.approvals.FindPending(tx.Q, resumeKind, workspaceID)
		switch {
		case err != nil:
			return "", event, err
		case pending.ID != "" && (pending.Maker.ID == by.ID || pending.Approvable(people)):
			return pending.ID, audit.None("resuming waits already"), nil
		case pending.ID != "":
			_, err = approval.VoidKind(tx, by, resumeKind, workspaceID, "another person requested it")
		}
		if err == nil {
			waits, err = s.approvals.AskToRelease(tx, by, people, approval.Request{Kind: resumeKind, Mode: api.ModeLive, WorkspaceID: workspaceID, Workspace: number,
				SubjectID: workspaceID, Version: was.version, Payload: resumption{Reason: was.reason, StoppedAt: was.at}})
		}
		if err == nil && waits == "" && !decides {
			err = fault.Denied(string(access.PayoutsApprove), fault.Scope{WorkspaceID: workspaceID})
		}
		if err != nil {
			return "", event, err
		}
	}
	if waits != "" {
		event.Action, event.Description, event.Changes = audit.PayoutSendingRequested, "Requested to resume sending live payouts", nil
		event.Changes.Add("approval_id", nil, waits)
		return waits, event, nil
	}
	_, err = s.lift(tx, workspaceID, was)
	return "", event, err
}

// lift ends a stop, unless there was another one since. Due payouts are sent in the next window of their rail, because the window they were
// meant for may be over.
func (s *Service) lift(tx *db.Tx, workspaceID string, was stop) (lifted bool, err error) {
	lifted, err = tx.Row(`UPDATE payout_stop SET stopped_at = 0 WHERE workspace_id = $1 AND mode = $2 AND version = $3 AND stopped_at > 0 RETURNING mode`,
		workspaceID, was.mode, was.version).Scan(new(string))
	if err != nil || !lifted {
		return false, err
	}
	for _, r := range s.rails.All() {
		if mode(r.Sandbox()) != was.mode {
			continue
		}
		send, arrive := r.Next(time.UnixMilli(tx.Now()))
		// With an index by rail, too many rows would be of other workspaces.
		if err := tx.Exec(`UPDATE payout SET send_at = $4, expected_at = $5, updated_at = $6
			WHERE workspace_id = $1 AND status = 'pending' AND mode || '' = $2 AND rail || '' = $3 AND send_at <= $6`,
			workspaceID, was.mode, r.Name, send.UnixMilli(), arrive.UnixMilli(), tx.Now()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// resumeKind is the kind of approvals to resume sending live payouts.
const resumeKind = "payout_resume"

// resumption is what such an approval is for: the stop that it lifts.
type resumption struct {
	Reason    string `json:"reason"`
	StoppedAt int64  `json:"stopped_at"`
}

func (s *Service) resumeKind() approval.Kind {
	const of = "to resume sending live payouts"
	return approval.KindOf[resumption]{
		Kind: approval.Kind{
			Name: resumeKind, Read: access.PayoutsRead, Make: access.PayoutsCreate, Pair: access.Payouts, Mail: mail.APayoutChange,
			Actions: approval.Actions(audit.PayoutSendingApproved, audit.PayoutSendingRejected,
				audit.PayoutSendingWithdrawn, audit.PayoutSendingExpired),
			Lock: func(tx *db.Tx, a approval.Approval) error {
				_, err := lockStop(tx, a.WorkspaceID, api.ModeLive)
				return err
			},
		},
		Apply: func(tx *db.Tx, a approval.Approval, _ resumption) (changes audit.Changes, _ string, err error) {
			lifted, err := s.lift(tx, a.WorkspaceID, stop{mode: api.ModeLive, version: a.Version})
			if err == nil && !lifted {
				err = fault.New(api.CodeApprovalChanged, "sending was stopped again since this was requested: look at why, then request it again")
			}
			changes.Add(api.ModeLive, sendingText(a.CreatedAt), sendingText(0))
			return changes, of, err
		},
		Drop: func(*db.Tx, approval.Approval, resumption) (audit.Changes, string, error) { return nil, of, nil },
		Show: func(r resumption, _ bool) (string, []api.ApprovalField) {
			return "Resume sending live payouts", []api.ApprovalField{
				{Field: "sending", Before: "stopped", After: "live payouts are sent"},
				{Field: "stopped_because", Before: r.Reason},
				{Field: "stopped_at", Before: time.UnixMilli(r.StoppedAt).UTC().Format("2006-01-02 15:04 UTC")},
			}
		},
	}.Decoding()
}

// stoppedIn lists the workspaces in which sending is stopped in a mode.
func stoppedIn(q db.Q, mode string) (map[string]bool, error) {
	found := map[string]bool{}
	err := q.Each(func(r db.Rows) error {
		found[r.Text(0)] = true
		return nil
	}, `SELECT workspace_id FROM payout_stop WHERE mode = $1 AND stopped_at > 0`, mode)
	return found, err
}

// WithoutStopped leaves out payments in whose workspace sending was stopped after they were claimed. They are looked up immediately. No
// rail has received them, so they become pending again.
func (s *Sending) WithoutStopped(ctx context.Context, r *rail.Rail, list []rail.Payment) (send []rail.Payment, err error) {
	var stopped map[string]bool
	err = s.db.Read(ctx, func(q db.Q) error {
		stopped, err = stoppedIn(q, mode(r.Sandbox()))
		return err
	})
	if err != nil || len(stopped) == 0 {
		return list, err
	}
	var left []any
	for _, p := range list {
		if stopped[p.WorkspaceID] {
			left = append(left, p.EndToEndID)
		} else {
			send = append(send, p)
		}
	}
	return send, s.Lease(ctx, left, 0)
}

// CountStops counts the active stops, for the operator. It is a step of the dispatcher.
func (s *Sending) CountStops(ctx context.Context) (bool, error) {
	var n int64
	err := s.db.Read(ctx, func(q db.Q) error {
		n = 0
		for _, mode := range stoppable(nil) {
			stopped, err := stoppedIn(q, mode)
			if n += int64(len(stopped)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.Stops.Store(n)
	}
	return false, err
}
