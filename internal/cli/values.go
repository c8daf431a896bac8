package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/cli/term"
)

// parseAmount parses a typed amount: 1500, 1,500.00, PHP 1,500.00 or 1,500.00 PHP. It returns the amount in the minor unit, and the
// currency if a different one was typed. It does not round.
func parseAmount(text, of string) (cents int64, _ string, err error) {
	number, currency := api.SplitAmount(text)
	currency = cmp.Or(currency, of)
	cents, err = api.ParseAmount(number, currency)
	if err != nil && currency == anyCurrency { // its decimals and maximum digits are not known yet
		for _, like := range []string{"KWD", "PHP", "JPY"} {
			if cents, err = api.ParseAmount(number, like); err == nil {
				break
			}
		}
		if err != nil {
			err = errors.New("must be a number")
		}
	}
	if err == nil && currency == anyCurrency && cents == 0 {
		err = errors.New("must be more than 0")
	} else if err == nil && (cents == 0 || cents > api.MaxAmount) {
		err = fmt.Errorf("must be more than %s and at most %s", amountText(term.Format{}, 0, currency), amountText(term.Format{}, api.MaxAmount, currency))
	}
	if err != nil {
		return 0, "", fmt.Errorf("the amount %q %w, such as 1500, 1,500.00 or PHP 1,500.00", text, err)
	}
	return cents, currency, nil
}

// anyCurrency has the most decimals. It is used to check an amount whose account is not known yet.
const anyCurrency = "CLF"

// amountIn parses an amount that is paid from or moved out of an account.
func amountIn(text string, from api.Account) (int64, error) {
	cents, currency, err := parseAmount(text, from.Currency)
	if err == nil && currency != from.Currency {
		err = fmt.Errorf("%s is in %s, not in %s", from.Name, from.Currency, currency)
	}
	if err != nil {
		return 0, term.Usage(err)
	}
	return cents, nil
}

// amountText formats an amount without its currency: grouped for people, and for spreadsheets in CSV.
func amountText(f term.Format, cents int64, currency string) string {
	text := strings.TrimPrefix(api.FormatAmount(cents, currency), currency+" ")
	if f.CSV {
		return strings.ReplaceAll(text, ",", "")
	}
	return text
}

// typedAmount is an amount on the command line, in a currency that is not known yet.
type typedAmount string

func (a *typedAmount) check() error {
	if *a == "" {
		return nil
	}
	if _, _, err := parseAmount(string(*a), anyCurrency); err != nil {
		return term.Usage(err)
	}
	return nil
}

const localForm = "2006-01-02 15:04:05"

// localTime formats a time for people, in their time zone. Zero is empty.
func localTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format(localForm)
}

// exactTime formats a time for programs. Zero is empty.
func exactTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

const century = 36525 * 24 * time.Hour

// parseLength parses a duration in Go's format, or in days or weeks.
func parseLength(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || time.Duration(n) > century/length {
			break
		}
		return time.Duration(n) * length, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration: use one such as 90d, 2w, 36h or 15m", text)
	}
	return d, nil
}

// parseMoment parses a time: in RFC 3339, as a local date with or without a time of day, or as a duration before the present. A date alone
// means its first moment, or its last one if last is set.
func parseMoment(text string, now time.Time, last bool) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		if last {
			return day.AddDate(0, 0, 1).Add(-time.Millisecond), nil
		}
		return day, nil
	}
	for _, form := range []string{localForm, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	ago, err := parseLength(strings.TrimSpace(strings.TrimSuffix(text, "ago")))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: use 2026-05-31, 2026-05-31T08:00:00Z, or a duration before now such as 2h or 7d", text)
	}
	return now.Add(-ago), nil
}
