package server_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/api/openapi"
	"bursar/internal/contract"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
)

// specified are the codes of the error model that clients of the platform were promised.
var specified = []string{
	"ACCOUNT_CLOSED", "ACCOUNT_FROZEN", "AMOUNT_ABOVE_MAXIMUM", "AMOUNT_BELOW_MINIMUM", "BANK_UNAVAILABLE", "FORBIDDEN",
	"IDEMPOTENCY_CONFLICT", "INSUFFICIENT_FUNDS", "INVALID_ACCOUNT", "INVALID_CREDENTIALS", "INVALID_INSTITUTION", "NOT_FOUND",
	"PROCESSING_FAILED", "RAIL_UNAVAILABLE", "RATE_LIMITED", "RESOURCE_NOT_FOUND", "UNAUTHORIZED", "VALIDATION_ERROR",
}

// errorCase is a request that is answered with an error.
type errorCase struct {
	by      *servertest.Client
	method  string
	path    string
	body    any
	headers []string
	status  int
	details body // that the answer has, besides others

	// before prepares the world for it, and after undoes that.
	before, after func()
}

// ask sends the request of a case.
func (c errorCase) ask(t *testing.T) *servertest.Answer {
	t.Helper()
	if c.before != nil {
		c.before()
	}
	if c.after != nil {
		defer c.after()
	}
	return c.by.On(t).Do(c.method, c.path, c.body, c.headers...)
}

const (
	payoutsPath = "/v2/payout-requests"
	bothRails   = "BOPIPHMMXXX" // a bank that InstaPay and PESONet reach
)

func TestEveryCodeOfTheErrorModelIsReachedByARequest(t *testing.T) {
	t.Parallel()
	checker, err := contract.New(openapi.JSON)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, store dbtest.Store) {
		cases := newErrorWorld(t, store).cases()
		if diff := cmp.Diff(specified, slices.Sorted(maps.Keys(cases))); diff != "" {
			t.Fatalf("the codes that are specified (-) and those of the table (+) differ:\n%s", diff)
		}
		for code, list := range cases {
			for name, c := range list {
				t.Run(code+"/"+name, func(t *testing.T) {
					answer := c.ask(t).Fails(c.status, code) // which the contract allows there, or it has failed
					var got struct{ Error struct{ Details body } }
					answer.Decode(&got)
					for key, want := range c.details {
						if diff := cmp.Diff(asJSON(t, want), got.Error.Details[key]); diff != "" {
							t.Errorf("details.%s (-want +got):\n%s", key, diff)
						}
					}
					// The contract names the code: it would not let any other pass.
					path, _, _ := strings.Cut(c.path, "?")
					other := strings.Replace(string(answer.Body), `"`+code+`"`, `"SOME_OTHER_CODE"`, 1)
					if checker.CheckResponse(httptest.NewRequest(c.method, path, nil), answer.Status, answer.Header, []byte(other)) == nil {
						t.Errorf("the contract does not say which codes %s %s answers with status %d", c.method, path, c.status)
					}
				})
			}
		}
	})
}

func TestTheContractExplainsEveryCodeOfTheErrorModel(t *testing.T) {
	t.Parallel()
	var contract struct{ Info struct{ Description string } }
	document, err := openapi.JSON()
	if err == nil {
		err = json.Unmarshal(document, &contract)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range specified {
		if !regexp.MustCompile("(?m)^\\| \\d{3} \\|.*`" + code + "`.*\\|$").MatchString(contract.Info.Description) {
			t.Errorf("the table of errors in the contract lacks %s", code)
		}
	}
}

// asJSON is a value as JSON has it.
func asJSON(t *testing.T, value any) (decoded any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestAPayoutAndItsReceiptHaveTheSameFailureCode(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		driven := func(reason string) string {
			id := x.Sent("1234569011")
			x.Owner.Post("/v2/simulations/payouts/"+id+"/reject", body{"reason": reason}).OK()
			return id
		}
		for _, c := range []struct{ id, code, reason, answered string }{
			{x.Sent("1234569001"), "INVALID_ACCOUNT", "AC01", "INVALID_ACCOUNT"},
			{x.Sent("1234569002"), "ACCOUNT_CLOSED", "AC04", "ACCOUNT_CLOSED"},
			{x.Sent("1234569003"), "PROCESSING_FAILED", "AC06", "PROCESSING_FAILED"},
			{x.Sent("1234569004"), "BANK_UNAVAILABLE", "AB08", "BANK_UNAVAILABLE"},
			{x.Sent("1234569005"), "RAIL_UNAVAILABLE", "AB01", "RAIL_UNAVAILABLE"},
			{x.Sent("1234569006"), "PROCESSING_FAILED", "AM04", "PROCESSING_FAILED"},
			{driven("AM06"), "AMOUNT_BELOW_MINIMUM", "AM06", "AMOUNT_BELOW_MINIMUM"},
			{driven("AM02"), "AMOUNT_ABOVE_MAXIMUM", "AM02", "AMOUNT_ABOVE_MAXIMUM"},
			// An unknown institution is a 400 elsewhere, and no receipt is the caller's fault.
			{driven("RC01"), "INVALID_INSTITUTION", "RC01", "PROCESSING_FAILED"},
			{driven("FF01"), "PROCESSING_FAILED", "FF01", "PROCESSING_FAILED"},
		} {
			p := servertest.Decoded[api.Payout](x.Owner.Get(payoutsPath + "/" + c.id))
			if p.Status != api.PayoutFailed || p.Failure == nil || string(p.Failure.Code) != c.code || p.Failure.Reason != c.reason {
				t.Errorf("%s: the payout is %s for %+v", c.reason, p.Status, p.Failure)
			}
			receipt := x.Owner.Get(payoutsPath+"/"+c.id+"/receipt").Fails(422, c.answered)
			if receipt.Detail("failure_code") != c.code || receipt.Detail("reason") != c.reason {
				t.Errorf("%s: the receipt is %s", c.reason, receipt.Body)
			}
		}
	})
}
