package server_test

import (
	"maps"
	"testing"

	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// errorWorld is where every error can happen: a tenant of one person who pays, and a pair.
type errorWorld struct {
	t       *testing.T
	n       *servertest.Node
	limited *servertest.Client // of a node that lets few requests through
	x       *servertest.Tenant
	owner   *servertest.Client
	viewer  *servertest.Client
	robot   robot

	account, other, closed string // accounts of the tenant; all but closed have 1,000.00
}

func newErrorWorld(t *testing.T, store dbtest.Store) *errorWorld {
	t.Helper()
	n := servertest.Start(t, store)
	w := &errorWorld{t: t, n: n, x: n.Tenant(t)}
	w.owner, w.viewer, w.robot = w.x.Owner, w.x.Member("viewer"), newRobot(t, w.x, "admin")
	w.account, w.other, w.closed = w.x.Account(100_000), w.x.Account(100_000), w.x.Account(0)
	w.owner.Patch("/v2/accounts/"+w.closed, body{"status": "closed"}).OK()
	w.limited = servertest.Start(t, store, servertest.RateLimit(slowRate)).Holder(t, w.owner.Token)
	return w
}

// request asks for a payout of 1.00, or for what more says. A nil leaves something out.
func (w *errorWorld) request(more body) body {
	r := body{"source_account_id": w.account, "amount_cents": 100, "currency": "PHP", "settlement_account": w.at(bothRails, "1234567890")}
	maps.Copy(r, more)
	return r
}

func (w *errorWorld) at(bank, number string) body {
	return body{"bank_account_name": "Juan dela Cruz", "bank_account_number": number, "bank_code": bank}
}

// payout is the case of a payout that is refused with 422.
func (w *errorWorld) payout(more, details body) errorCase {
	return errorCase{by: w.owner, method: "POST", path: payoutsPath, body: w.request(more), status: 422, details: details}
}

// with is a case in a world that is changed meanwhile.
func (c errorCase) with(before, after func()) errorCase {
	c.before, c.after = before, after
	return c
}

// frozen is a case while the account is frozen.
func (w *errorWorld) frozen(c errorCase) errorCase {
	set := func(status string) func() {
		return func() { w.owner.Patch("/v2/accounts/"+w.account, body{"status": status}).OK() }
	}
	return c.with(set("frozen"), set("active"))
}

// down is a case while a service is down.
func (w *errorWorld) down(service string, c errorCase) errorCase {
	set := func(status string) func() {
		return func() {
			w.owner.Post("/v2/simulations/services/"+service, body{"workspace_id": w.x.WorkspaceID, "status": status}).OK()
		}
	}
	return c.with(set("down"), set("up"))
}

// read is the case of something that cannot be read.
func (w *errorWorld) read(by *servertest.Client, path string, status int, headers ...string) errorCase {
	return errorCase{by: by, method: "GET", path: path, status: status, headers: headers}
}

// receipt is the case of the receipt of a payout to a number that decides what becomes of it.
func (w *errorWorld) receipt(number string, details body) errorCase {
	return errorCase{by: w.owner, method: "GET", path: payoutsPath + "/" + w.x.Sent(number) + "/receipt", status: 422, details: details}
}

func (w *errorWorld) transfer(from, to string, amount int64, details body) errorCase {
	return errorCase{by: w.owner, method: "POST", path: "/v2/transfers", status: 422, details: details,
		body: body{"source_account_id": from, "destination_account_id": to, "amount_cents": amount}}
}

// step is the case of a step of a payout that is not allowed.
func (w *errorWorld) step(by *servertest.Client, id, verb string, content any, status int, details body) errorCase {
	return errorCase{by: by, method: "POST", path: payoutsPath + "/" + id + "/" + verb, body: content, status: status, details: details}
}

// approvals are the cases of a payout that waits for the second person of a pair.
func (w *errorWorld) approvals() (short, own errorCase) {
	x, maker, second := w.n.Pair(w.t)
	account := x.Account(1_000)
	id := maker.Post(payoutsPath, w.request(body{"source_account_id": account, "amount_cents": 1_000})).Created().Text("id")
	digest := second.Get("/v1/approvals/" + second.Get(payoutsPath+"/"+id).OK().Text("approval_id")).OK().Text("digest")
	spent := maker.Post("/v2/transfers", body{"source_account_id": account, "destination_account_id": x.Account(0), "amount_cents": 400})
	spent.Created()
	approve := body{"digest": digest}
	return w.step(second, id, "approve", approve, 422, body{"available_balance": 600, "requested_amount": 1_000}),
		w.step(w.n.Person(w.t, maker), id, "approve", approve, 403, nil)
}

// cases are requests for each code, by their names.
func (w *errorWorld) cases() map[string]map[string]errorCase {
	draft := w.owner.Post(payoutsPath, w.request(body{"status": "draft", "amount_cents": 100_001})).Created().Text("id")
	named := w.request(body{"external_id": "invoice-1"})
	w.owner.Post(payoutsPath, named).Created()
	w.owner.Do("POST", payoutsPath, w.request(nil), keyHeader, "key-1").Created()
	left := 100_000 - 2*100
	short, own := w.approvals()
	stranger, missing := w.n.Stranger(w.t), "acc_01jd3a1b2c3d4e5f6g7h8j9k0m"
	post := func(by *servertest.Client, content any, status int, headers ...string) errorCase {
		return errorCase{by: by, method: "POST", path: payoutsPath, body: content, status: status, headers: headers}
	}
	institution := func(more, details body) errorCase {
		c := w.payout(more, details)
		c.status = 400
		return c
	}
	return map[string]map[string]errorCase{
		"INSUFFICIENT_FUNDS": {
			"create":   w.payout(body{"amount_cents": 100_001}, body{"available_balance": left, "requested_amount": 100_001}),
			"publish":  w.step(w.owner, draft, "publish", nil, 422, body{"available_balance": left, "requested_amount": 100_001}),
			"approve":  short,
			"transfer": w.transfer(w.other, w.account, 100_001, body{"available_balance": 100_000, "requested_amount": 100_001}),
		},
		"ACCOUNT_FROZEN": {
			"create":   w.frozen(w.payout(nil, body{"status": "frozen"})),
			"publish":  w.frozen(w.step(w.owner, draft, "publish", nil, 422, body{"status": "frozen"})),
			"transfer": w.frozen(w.transfer(w.account, w.other, 1, body{"status": "frozen"})),
		},
		"AMOUNT_BELOW_MINIMUM": {"create": w.payout(body{"amount_cents": 99}, body{"minimum": 100, "rail": "instapay"})},
		"AMOUNT_ABOVE_MAXIMUM": {"create": w.payout(body{"amount_cents": 5_000_001, "settlement_rail": "instapay"}, body{"maximum": 5_000_000, "rail": "instapay"})},
		"INVALID_ACCOUNT": {
			"create":  w.payout(body{"settlement_account": w.at(bothRails, "123456789")}, nil),
			"receipt": w.receipt("1234569001", body{"failure_code": "INVALID_ACCOUNT", "reason": "AC01"}),
		},
		"ACCOUNT_CLOSED": {
			"receipt":  w.receipt("7777779002", body{"failure_code": "ACCOUNT_CLOSED", "reason": "AC04"}),
			"create":   w.payout(body{"settlement_account": w.at(bothRails, "7777779002")}, nil), // which the rail has reported closed
			"transfer": w.transfer(w.account, w.closed, 1, nil),
			"deposit":  {by: w.owner, method: "POST", path: "/v2/simulations/deposits", body: body{"account_id": w.closed, "amount_cents": 100}, status: 422},
		},
		"INVALID_INSTITUTION": {
			"unknown":         institution(body{"settlement_account": w.at("NOBANK", "1234567890")}, body{"institution": "NOBANK"}),
			"not on the rail": institution(body{"settlement_rail": "instapay", "settlement_account": w.at("PAEYPHM2XXX", "1234567890")}, body{"rail": "instapay"}),
		},
		"BANK_UNAVAILABLE": {
			"create":  w.down(bothRails, w.payout(nil, nil)),
			"receipt": w.receipt("1234569004", body{"failure_code": "BANK_UNAVAILABLE", "reason": "AB08"}),
		},
		"RAIL_UNAVAILABLE": {
			"create":  w.down("instapay", w.payout(nil, nil)),
			"receipt": w.receipt("1234569005", body{"failure_code": "RAIL_UNAVAILABLE", "reason": "AB01"}),
		},
		"PROCESSING_FAILED": {
			"receipt":       w.receipt("1234569003", body{"failure_code": "PROCESSING_FAILED", "reason": "AC06"}),
			"our own float": w.receipt("1234569006", body{"failure_code": "PROCESSING_FAILED", "reason": "AM04"}),
		},
		"INVALID_CREDENTIALS": {
			"wrong secret": post(stranger, w.request(nil), 401, "Authorization", servertest.Basic(w.robot.id, w.robot.secret+"x")),
			"wrong client": w.read(stranger, "/v2/accounts/"+w.account+"/balances", 401, "Authorization", servertest.Basic("client_1", w.robot.secret)),
		},
		"UNAUTHORIZED": {
			"no header":        post(stranger, w.request(nil), 401),
			"malformed header": w.read(stranger, "/v2/accounts/"+w.account, 401, "Authorization", "Basic !"),
			"no session":       w.read(w.n.Holder(w.t, "x"), "/v1/auth/me", 401),
		},
		"FORBIDDEN": {
			"no permission": post(w.viewer, w.request(nil), 403),
			"one's own":     own,
		},
		"VALIDATION_ERROR": {
			"a value":        institution(body{"amount_cents": 0}, body{"fields": []body{{"field": "amount_cents", "constraint": "must be an integer from 1 to 999999999999999"}}}),
			"malformed JSON": post(w.owner, "{", 400),
			"two at once":    institution(body{"receiving_method_id": "rm_1"}, nil),
		},
		"RESOURCE_NOT_FOUND": {
			"an account":      w.read(w.owner, "/v2/accounts/"+missing+"/balances", 404),
			"of another":      w.read(w.n.Tenant(w.t).Owner, "/v2/accounts/"+w.account+"/balances", 404),
			"a payout":        w.read(w.owner, payoutsPath+"/po_1", 404),
			"source of a new": post(w.owner, w.request(body{"source_account_id": missing}), 404),
			"a service":       w.read(w.owner, payoutsPath+"/health/nobody", 404),
		},
		"NOT_FOUND": {"an entry": w.read(w.owner, "/v1/directory/entry_1", 404)},
		"IDEMPOTENCY_CONFLICT": {
			"key":         post(w.owner, w.request(body{"amount_cents": 200}), 409, keyHeader, "key-1"),
			"external_id": post(w.owner, w.request(body{"external_id": "invoice-1", "amount_cents": 200}), 409),
		},
		"RATE_LIMITED": {"too many": w.read(w.limited, "/v2/accounts/"+w.account+"/balances", 429).with(func() {
			spend(w.t, 10, 5, func(int) *servertest.Answer { return w.limited.Get("/v2/accounts/" + w.account + "/balances") })
		}, nil)},
	}
}
