package cli

import (
	"errors"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/cli/term"
)

// parseAmount parses a typed amount: 1500, 1,500.00, PHP 1,500.00 or 1,500.00 PHP. It returns the amount in the minor unit, and the
// currency if a different one was typed. It does not round.
func parseAmount(text, of string) (cents int64, currency string, err error) {
	currency = of
	number := strings.TrimSpace(text)
	for _, cut := range []func(s string) (rest, word string){
		func(s string) (string, string) { word, rest, _ := strings.Cut(s, " "); return rest, word },
		func(s string) (string, string) { at := strings.LastIndex(s, " "); return s[:max(at, 0)], s[at+1:] },
	} {
		if rest, word := cut(number); len(word) == 3 && strings.Trim(strings.ToUpper(word), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			number, currency = strings.TrimSpace(rest), strings.ToUpper(word)
			break
		}
	}
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
