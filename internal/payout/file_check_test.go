package payout_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"bursar/api"
	"bursar/internal/db/dbtest"
	"bursar/internal/server/servertest"
	"bursar/internal/wait"
)

// refusedWith sends a file of which lines are refused, and returns why.
func refusedWith(by *servertest.Client, account, file string) map[string]string {
	by.T().Helper()
	return sendFile(by, account, file).Fails(http.StatusBadRequest, "VALIDATION_ERROR").Violations()
}

func TestOneFaultyLineRefusesAFile(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		x.Owner.Pay(account, 1_000) // so that the workspace has its data key
		entry, method := payee(x, "Ada Lovelace", number("7801"))
		x.Owner.AddMethod(entry, servertest.Account(number("7802"), body{"institution_code": bpi}))
		payee(x, "Twin", number("7803"))
		payee(x, "TWIN", number("7804"))
		x.Entry("Grace Hopper")
		file := "to,receiving_method_id,bank_code,account_number,account_name,amount,external_id,rail\n" + strings.Join([]string{
			"Ada Lovelace,,,,,100,twice,",
			"Nobody,,,,,100,,",
			"Twin,,,,,100,,",
			"Ada Lovelace/bank,,,,,100,,",
			"Ada Lovelace/gcash,,,,,100,,",
			"Grace Hopper,,,,,100,,",
			"Ada Lovelace," + method + ",,,,100,,",
			",,,,,100,,",
			",," + bpi + ",,Ada,100,,",
			"Ada Lovelace,,,,,1.234,,",
			"Ada Lovelace,,,,,USD 1,,",
			"Ada Lovelace,,,,,0,,",
			"Ada Lovelace,,,,,100,twice,",
			"Ada Lovelace,,,,,100,,post",
			"Ada Lovelace,,,,,2000,,",
		}, "\n") + "\n"
		want := map[string]string{
			"lines.3":  `VALIDATION_ERROR: the directory has no entry called "Nobody"`,
			"lines.4":  `VALIDATION_ERROR: the directory has 2 entries called "Twin": name one by its id`,
			"lines.5":  `VALIDATION_ERROR: Ada Lovelace has 2 receiving methods called "bank": name one by its id`,
			"lines.6":  `VALIDATION_ERROR: Ada Lovelace has no receiving method "gcash" that can be paid`,
			"lines.7":  `VALIDATION_ERROR: Grace Hopper has no receiving method that can be paid`,
			"lines.8":  `VALIDATION_ERROR: a line names either a payee, a receiving method or an account, not several`,
			"lines.9":  `VALIDATION_ERROR: no payee: name one in to, or give a receiving_method_id or an account`,
			"lines.10": `VALIDATION_ERROR: an account takes a bank_code, an account_number and an account_name`,
			"lines.11": `VALIDATION_ERROR: the amount "1.234" must be a number with at most two decimals, such as 1500, 1,500.00 or PHP 1,500.00`,
			"lines.12": `VALIDATION_ERROR: Payroll is in PHP, not in USD`,
			"lines.13": `VALIDATION_ERROR: the amount must be more than 0 and at most PHP 9,999,999,999,999.99`,
			"lines.14": `VALIDATION_ERROR: line 2 has the same external_id`,
			"lines.15": `VALIDATION_ERROR: settlement_rail must be one of instapay, pesonet for an account that is sandbox`,
			"lines.16": `INSUFFICIENT_FUNDS: the available balance is too low: PHP 890.00 is available, and this takes PHP 2,000.00, so PHP 1,110.00 is missing`,
		}
		n.Unchanged(t, func() {
			got := refusedWith(x.Owner, account, file)
			if !maps.Equal(got, want) {
				for _, line := range slices.Sorted(maps.Keys(got)) {
					if got[line] != want[line] {
						t.Errorf("%s: %s\nwant %s", line, got[line], want[line])
					}
				}
				t.Errorf("%d lines are refused, want %d", len(got), len(want))
			}
		})
	})
}

func TestAFileIsReadOnlyAsFarAsItCanBeTrusted(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	account := x.Account(100_000)
	x.Owner.Pay(account, 1_000)
	n.Unchanged(t, func() {
		for file, want := range map[string]string{
			"amount,who\n1,Ada\n":           `there is no column "who"`,
			"amount,to\n":                   "the file has no payout",
			"\xff\xfea\x00,\x00\n":          "the file is not UTF-8",
			"amount,to\n1,\"Ada\nBob,":      "extraneous or missing",
			strings.Repeat("{}\n", 100_001): "the file has more than 100000 payouts: divide it",
		} {
			if got := refusedWith(x.Owner, account, file)["body"]; !strings.Contains(got, want) {
				t.Errorf("%.40q: %q, want %s", file, got, want)
			}
		}
		if got := refusedWith(x.Owner, account, "amount,to\n1,Pe\xf1a\n")["lines.2"]; !strings.Contains(got, "the line is not UTF-8") {
			t.Errorf("a name in Latin-1: %q", got)
		}
		sendFile(x.Owner, account, strings.Repeat("x", 32<<20+1)).Fails(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE")
		sendFile(x.Owner, account, manyLines(1), "currency", "USD").Invalid("currency")
		sendFile(x.Owner, "acc_none", manyLines(1)).Fails(http.StatusNotFound, "RESOURCE_NOT_FOUND")
	})
}

func TestAnErrorNamesAHundredOfTheRefusedLines(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	answer := sendFile(x.Owner, x.Account(0), manyLines(150))
	if got := answer.Fails(http.StatusBadRequest, "VALIDATION_ERROR").Violations(); len(got) != 100 || !strings.Contains(answer.Message(), "150 of 150 lines are refused") {
		t.Errorf("%d lines are named: %s", len(got), answer.Message())
	}
}

// beginFile sends a file without its last byte, once the server has begun to read it.
func beginFile(t *testing.T, by *servertest.Client, account, file string) *net.TCPConn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(by.Node.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	_, err = fmt.Fprintf(connection, "POST %s?source_account_id=%s&currency=PHP HTTP/1.1\r\nHost: bursar\r\nContent-Type: text/csv\r\nAuthorization: Bearer %s\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", batches, account, by.Token, len(file))
	if err != nil {
		t.Fatal(err)
	}
	const proceed = "HTTP/1.1 100 Continue\r\n\r\n"
	answer := make([]byte, len(proceed))
	if _, err := io.ReadFull(connection, answer); err != nil || string(answer) != proceed {
		t.Fatalf("the server answers %q, %v", answer, err)
	}
	if _, err := io.WriteString(connection, file[:len(file)-1]); err != nil {
		t.Fatal(err)
	}
	return connection.(*net.TCPConn)
}

func TestAFileThatIsCutOffPaysNobody(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		account := x.Account(100_000)
		x.Owner.Pay(account, 1_000)
		n.Unchanged(t, func() {
			connection := beginFile(t, x.Owner, account, manyLines(3))
			if err := connection.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "could not be read to its end") {
				t.Errorf("the answer is %d %s, %v", answer.StatusCode, text, err)
			}
		})
	})
}

func TestAWorkspaceSendsTwoFilesAtOnce(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	x, other := n.Tenant(t), n.Tenant(t)
	account, theirs := x.Account(100_000), other.Account(100_000)
	slow := []*net.TCPConn{beginFile(t, x.Owner, account, manyLines(3)), beginFile(t, x.Owner, account, manyLines(3))}
	third := func() int { return sendFile(x.Owner, account, manyLines(1), "dry_run", "true").Status }
	if got := third(); got != http.StatusServiceUnavailable {
		t.Errorf("a third file is answered with %d", got)
	}
	sendFile(other.Owner, theirs, manyLines(1)).Created()
	for _, connection := range slow {
		connection.Close()
	}
	wait.Until(t, "they have ended", func() bool { return third() == http.StatusOK })
	if count := n.Count(t, `SELECT count(*) FROM payout WHERE workspace_id = $1`, x.WorkspaceID); count != 0 {
		t.Errorf("there are %d payouts", count)
	}
}

func TestNamesInAFileAreFoundWithThePermissionsOfTheCaller(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x, other := n.Tenant(t), n.Tenant(t)
		account := x.Account(100_000)
		_, method := payee(x, "Ada Lovelace", number("7801"))
		foreign, foreignMethod := payee(other, "Grace Hopper", number("7802"))
		for missing, permissions := range map[string][]string{
			"the directory":         {"ws.receiving.read"},
			"the receiving methods": {"ws.directory.read"},
		} {
			role := "payer_" + strings.ReplaceAll(missing, " ", "_")
			x.Define(role, append(permissions, "ws.payouts.create", "ws.payouts.read", "ws.accounts.read")...)
			payer := x.Member(role)
			got := refusedWith(payer, account, "to,amount\nAda Lovelace,1\nNobody,1\n")
			for _, line := range []string{"lines.2", "lines.3"} {
				if want := "VALIDATION_ERROR: you may not see the receiving methods of payees: give a receiving_method_id or an account"; got[line] != want {
					t.Errorf("without %s, %s is %q", missing, line, got[line])
				}
			}
			sendFile(payer, account, "receiving_method_id,amount,external_id\n"+method+",1,"+role+"\n").Created()
		}
		got := refusedWith(x.Owner, account, "to,receiving_method_id,amount\nGrace Hopper,,1\n"+foreign+",,1\n,"+foreignMethod+",1\n")
		if !strings.Contains(got["lines.2"], "no entry called") || !strings.Contains(got["lines.3"], "no entry called") || !strings.Contains(got["lines.4"], "RESOURCE_NOT_FOUND") {
			t.Errorf("payees of another workspace are %q", got)
		}
		x.Define("reader", "ws.payouts.read", "ws.accounts.read")
		sendFile(x.Member("reader"), account, manyLines(1)).Fails(http.StatusForbidden, "FORBIDDEN")
	})
}

func TestAPayeeIsNamedByIDLabelOrMethod(t *testing.T) {
	servertest.OnEach(t, func(t *testing.T, n *servertest.Node) {
		x := n.Tenant(t)
		entry, first := payee(x, "Ana Peña", number("7801"))
		second := x.Owner.AddMethod(entry, servertest.Account("09171234567", body{"provider": "gcash", "institution_code": "GXCHPHM2XXX", "account_name": "Ana"}))
		payee(x, "Ana Pena", number("7802"))
		payee(x, "Ana Peña Cruz", number("7803"))
		made := batchesOf(sendFile(x.Owner, x.Account(100_000), "to,amount\nana peña,1\nANA PEÑA/GCASH,2\n"+entry+",3\n"+entry+"/"+second+",4\nAna Peña/ana,5\n", "dry_run", "true").OK())
		var got []string
		for _, r := range made[0].Results {
			got = append(got, r.ReceivingMethodID)
		}
		if !slices.Equal(got, []string{first, second, first, second, second}) {
			t.Errorf("the methods are %v, want %s and %s: %+v", got, first, second, made[0].Results)
		}
	})
}

func TestACredentialOfAModePaysNoFileFromOtherMoney(t *testing.T) {
	n := servertest.Start(t, dbtest.SQLite(t))
	x := n.Tenant(t)
	account := x.Account(100_000)
	sendFile(limitedTo(t, x.Owner, api.ModeLive), account, manyLines(1)).Fails(http.StatusForbidden, "FORBIDDEN")
	sendFile(limitedTo(t, x.Owner, api.ModeSandbox), account, manyLines(1)).Created()
}
