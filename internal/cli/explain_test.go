package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bursar/client"
)

func TestTooLittleMoneySaysHowMuchIsMissing(t *testing.T) {
	refused := &client.Error{Code: "INSUFFICIENT_FUNDS", Status: 422, Message: "the available balance is too low",
		Details: json.RawMessage(`{"available_balance":99850000,"requested_amount":200000000}`)}
	want := "pay: the available balance is too low: 998,500.00 is available, and this takes 2,000,000.00, so 1,001,500.00 is missing"
	if got := explain(fmt.Errorf("pay: %w", refused)); !strings.HasPrefix(got, want) {
		t.Errorf("it says %q", got)
	}
}
