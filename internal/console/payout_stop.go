package console

import (
	"bursar/api"
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
		modes = options("", "Live and sandbox payouts", api.ModeLive, "Live payouts only", api.ModeSandbox, "Sandbox payouts only")
	}
	return list, modes, err
}

func (c *Console) stopPayouts(v *visit) error {
	if _, err := submit(v, c.Payouts.Stop, payout.StopInput{ID: v.workspace.ID}); err != nil {
		return v.again(err, c.payoutsPage)
	}
	return v.done("Stopped. Nothing more is sent.", v.path("payouts"))
}

func (c *Console) resumePayouts(v *visit) error {
	_, err := submit(v, c.Payouts.Resume, payout.ResumeInput{ID: v.workspace.ID})
	switch {
	case waitsForApprover(err):
		return v.done("Requested. Payouts are sent once another person approves.", v.path("payouts"))
	case err != nil:
		return err
	}
	return v.done("Resumed. What was due goes out in the next window of its rail.", v.path("payouts"))
}

// waitsForApprover reports whether a change is stored and waits for another person.
func waitsForApprover(err error) bool { return hasCode(err, api.CodeSecondPersonRequired) }
