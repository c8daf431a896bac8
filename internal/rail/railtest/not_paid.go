package railtest

import "bursar/internal/rail"

// afterNotPaid returns a submission of a payment of which people have determined that earlier ones were not paid.
func (n *node) afterNotPaid(id string, number, notPaid int) rail.Payment {
	p := n.submission(id, number)
	p.NotPaid = notPaid
	return p
}

func notPaid(n *node) {
	n.submit(n.submission("P1", 1))
	if found := n.lookUp(n.afterNotPaid("P1", 0, 1)); found.State != rail.NotReceived {
		n.Errorf("looked up after it was not paid: %+v", found)
	}
	n.answered("submitted without such a finding", n.submit(n.submission("P1", 2))[0], rail.Accepted, 1)
	n.received("P1", 1)
	n.answered("submitted as what was not paid", n.submit(n.afterNotPaid("P1", 1, 1))[0], rail.Accepted, 1)
	n.received("P1", 1)
	n.answered("submitted after it was not paid", n.submit(n.afterNotPaid("P1", 2, 1))[0], rail.Accepted, 2)
	sent := n.bank.Received("P1")
	for name, again := range map[string]rail.Payment{
		"a second time":                  n.afterNotPaid("P1", 2, 1),
		"after its send window ends":     expired(n, n.afterNotPaid("P1", 2, 1)),
		"with a higher submission":       n.afterNotPaid("P1", 3, 1),
		"by a node that knows no better": n.submission("P1", 1),
	} {
		n.answered("submitted "+name, n.other().submit(again)[0], rail.Accepted, 2)
	}
	n.answered("looked up", n.lookUp(n.afterNotPaid("P1", 2, 1)), rail.Accepted, 2)
	n.answered("looked up without a number", n.lookUp(n.submission("P1", 0)), rail.Accepted, 2)
	n.answered("looked up without a number", n.lookUp(n.afterNotPaid("P1", 0, 1)), rail.Accepted, 2)
	n.received("P1", sent)
}

// notPaidAndMissing loses the submission that follows one that was not paid.
func notPaidAndMissing(n *node) {
	n.submit(n.submission("P1", 1))
	n.answered("submitted too late", n.submit(expired(n, n.afterNotPaid("P1", 2, 1)))[0], rail.Unknown, 2)
	n.answered("looked up", n.other().lookUp(n.afterNotPaid("P1", 2, 1)), rail.NotReceived, 2)
	n.answered("submitted late", n.submit(n.afterNotPaid("P1", 2, 1))[0], rail.Unknown, 2)
	n.answered("submitted again", n.submit(n.afterNotPaid("P1", 3, 1))[0], rail.Accepted, 3)
	n.answered("looked up", n.lookUp(n.afterNotPaid("P1", 3, 1)), rail.Accepted, 3)
}
