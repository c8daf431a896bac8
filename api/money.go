package api

import (
	"errors"
	"strconv"
	"strings"
)

// The modes of an account. No real money moves in a sandbox.
const (
	ModeSandbox = "sandbox"
	ModeLive    = "live"
)

// The states of an account. A frozen account makes no payouts. A closed account is permanently at zero.
const (
	AccountActive = "active"
	AccountFrozen = "frozen"
	AccountClosed = "closed"
)

// The buckets of an account: available to spend, reserved for payouts, and announced by a bank but not booked.
const (
	BucketAvailable = "available"
	BucketReserved  = "reserved"
	BucketPending   = "pending"
)

// The states of a deposit: announced by a bank, and booked.
const (
	DepositPending = "pending"
	DepositBooked  = "booked"
)

// Sources of a deposit.
const (
	DepositFromBank       = "bank"
	DepositFromOperator   = "operator"
	DepositFromSimulation = "simulation"
)

// AccountCreate describes a new account.
type AccountCreate struct {
	WorkspaceID *string `json:"workspace_id,omitzero"`
	Name        string  `json:"name" required:"true"`
	Currency    *string `json:"currency,omitzero"`
	Mode        *string `json:"mode,omitzero"`
}

// AccountUpdate changes an account. Nil fields stay as they are.
type AccountUpdate struct {
	Name   *string `json:"name,omitzero"`
	Status *string `json:"status,omitzero"`
}

// Account holds money. Balances are integers in the minor unit.
type Account struct {
	ID               string `json:"id"`
	WorkspaceID      string `json:"workspace_id"`
	Name             string `json:"name"`
	Currency         string `json:"currency"`
	Mode             string `json:"mode"`
	Status           string `json:"status"`
	AvailableBalance int64  `json:"available_balance"`
	PendingBalance   int64  `json:"pending_balance"`
	ReservedBalance  int64  `json:"reserved_balance"`
	TotalBalance     int64  `json:"total_balance"`
	CreatedAt        int64  `json:"created_at"`
	UpdatedAt        int64  `json:"updated_at"`
}

// AccountBalances are the balances of an account at one moment. Total is the sum of the others.
type AccountBalances struct {
	AccountID        string `json:"account_id"`
	Currency         string `json:"currency"`
	AvailableBalance int64  `json:"available_balance"`
	PendingBalance   int64  `json:"pending_balance"`
	ReservedBalance  int64  `json:"reserved_balance"`
	TotalBalance     int64  `json:"total_balance"`
	AsOf             int64  `json:"as_of"`
}

// Posting is the effect of a transaction on a bucket of an account. Balance is the balance of the bucket after it.
type Posting struct {
	ID            string `json:"id"`
	AccountID     string `json:"account_id"`
	Number        int64  `json:"number"`
	TransactionID string `json:"transaction_id"`
	Kind          string `json:"kind"`
	Reference     string `json:"reference,omitzero"`
	Description   string `json:"description,omitzero"`
	Bucket        string `json:"bucket"`
	Amount        int64  `json:"amount_cents"`
	Balance       int64  `json:"balance_cents"`
	CreatedAt     int64  `json:"created_at"`
}

// TransferCreate moves money between two accounts of a workspace.
type TransferCreate struct {
	SourceAccountID      string  `json:"source_account_id" required:"true"`
	DestinationAccountID string  `json:"destination_account_id" required:"true"`
	Amount               int64   `json:"amount_cents" required:"true"`
	Description          *string `json:"description,omitzero"`
}

// Transfer is a movement of money between two accounts.
type Transfer struct {
	ID                   string `json:"id"`
	WorkspaceID          string `json:"workspace_id"`
	TransactionID        string `json:"transaction_id"`
	SourceAccountID      string `json:"source_account_id"`
	DestinationAccountID string `json:"destination_account_id"`
	Amount               int64  `json:"amount_cents"`
	Currency             string `json:"currency"`
	Description          string `json:"description,omitzero"`
	CreatedAt            int64  `json:"created_at"`
}

// Deposit is incoming money. Reference is the bank's reference or an operator's note.
type Deposit struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspace_id"`
	AccountID   string `json:"account_id"`
	Amount      int64  `json:"amount_cents"`
	Currency    string `json:"currency"`
	Source      string `json:"source"`
	Reference   string `json:"reference,omitzero"`
	Status      string `json:"status"`
	CreatedAt   int64  `json:"created_at"`
	BookedAt    int64  `json:"booked_at,omitzero"`
}

// FundsDetails are the details of INSUFFICIENT_FUNDS.
type FundsDetails struct {
	AvailableBalance int64 `json:"available_balance"`
	RequestedAmount  int64 `json:"requested_amount"`
}

// AccountStatusDetails are the details of ACCOUNT_FROZEN.
type AccountStatusDetails struct {
	Status string `json:"status"`
}

// Decimals returns the number of decimal places of a currency, by ISO 4217. It returns 2 for an unknown currency.
func Decimals(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	case "CLF", "UYW":
		return 4
	}
	return 2
}

// FormatAmount formats an amount in the minor unit for display, such as PHP 1,234.50 or JPY 1,234.
func FormatAmount(amount int64, currency string) string {
	digits, after := strconv.FormatInt(max(amount, -amount), 10), Decimals(currency)
	for len(digits) <= after {
		digits = "0" + digits
	}
	whole, cents := digits[:len(digits)-after], digits[len(digits)-after:]
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if amount < 0 {
		whole = "-" + whole
	}
	if after > 0 {
		whole += "."
	}
	return currency + " " + whole + cents
}

// SplitAmount divides a typed amount such as "PHP 1,500.00" or "1,500.00 PHP" into its number and its currency, which is empty if there is none.
func SplitAmount(text string) (number, currency string) {
	text = strings.TrimSpace(text)
	first, rest, _ := strings.Cut(text, " ")
	at := strings.LastIndex(text, " ")
	for _, cut := range [][2]string{{rest, first}, {text[:max(at, 0)], text[at+1:]}} {
		if word := strings.ToUpper(cut[1]); len(word) == 3 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return strings.TrimSpace(cut[0]), word
		}
	}
	return text, ""
}

// ParseAmount parses an amount such as 1234.5 or 1,234.50 into the minor unit of a currency. It accepts at most 15 digits.
func ParseAmount(text, currency string) (int64, error) {
	after := Decimals(currency)
	errAmount := errors.New("must be a number with at most " + [...]string{"no", "one", "two", "three", "four"}[after] + " decimals")
	if after == 0 {
		errAmount = errors.New("must be a whole number")
	}
	whole, cents, point := strings.Cut(text, ".")
	if strings.Contains(whole, ",") {
		for i, group := range strings.Split(whole, ",") {
			if i > 0 && len(group) != 3 || i == 0 && (len(group) == 0 || len(group) > 3) {
				return 0, errAmount
			}
		}
		whole = strings.ReplaceAll(whole, ",", "")
	}
	if whole == "" || point && cents == "" || len(cents) > after || len(whole) > 15-after {
		return 0, errAmount
	}
	digits := whole + cents + strings.Repeat("0", after-len(cents))
	if strings.Trim(digits, "0123456789") != "" {
		return 0, errAmount
	}
	return strconv.ParseInt(digits, 10, 64)
}
