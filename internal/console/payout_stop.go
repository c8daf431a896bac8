package console

import (
	"errors"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/payout"
)

// stopView is a mode in which sending is stopped, for display.
type stopView struct {
	api.PayoutStop
	Mode  string
	Waits string // the approval that resuming waits for
}

// stops returns the modes in which sending is stopped, and the modes that can be stopped.
func (v *visit) stops() (list []stopView, modes []choice, err error) {
	now, err := read(v, v.console.Payouts.Sending, payout.SendingInput{ID: v.workspace.ID})
	if now.Live.Stopped {
		list = append(list, stopView{now.Live, api.ModeLive, now.ApprovalID})
	}
	if now.Sandbox.Stopped {
		list = append(list, stopView{now.Sandbox, api.ModeSandbox, ""})
	}
	if len(list) < 2 && v.console.Rails.HasLive() {
		modes = []choice{{"", "Live and sandbox payouts", true}, {api.ModeLive, "Live payouts only", false}, {api.ModeSandbox, "Sandbox payouts only", false}}
	}
	return list, modes, err
}

func (c *Console) stopPayouts(v *visit) error {
	_, err := change(v, c.Payouts.Stop, payout.StopInput{ID: v.workspace.ID, PayoutStopRequest: api.PayoutStopRequest{Reason: v.field("reason"), Mode: optional(v.field("mode"))}})
	if err == nil {
		return v.done("Stopped. Nothing more is sent.", v.path("payouts"))
	}
	p, status, ok := formProblems(err, "reason", "mode")
	if !ok {
		return err
	}
	data, err := v.payoutList()
	if err != nil {
		return err
	}
	data.StopReason = v.field("reason")
	return v.showAgain(status, "payouts", "Payouts", p, data)
}

func (c *Console) resumePayouts(v *visit) error {
	_, err := change(v, c.Payouts.Resume, payout.ResumeInput{ID: v.workspace.ID, PayoutResumeRequest: api.PayoutResumeRequest{Mode: optional(v.field("mode"))}})
	if waitsForApprover(err) {
		return v.done("Requested. Payouts are sent once another person approves.", v.path("payouts"))
	}
	if err != nil {
		return err
	}
	return v.done("Resumed. What was due goes out in the next window of its rail.", v.path("payouts"))
}

// waitsForApprover reports whether a change is stored and waits for another person.
func waitsForApprover(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Code == api.CodeSecondPersonRequired
}
