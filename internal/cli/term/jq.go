package term

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/itchyny/gojq"
)

// JQ is a compiled jq expression.
type JQ struct{ code *gojq.Code }

// CompileJQ compiles the expression of --jq. Call it before the command has any effect, so that a mistake in the expression changes
// nothing.
func CompileJQ(expression string) (*JQ, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, Usagef("--jq: %w", err)
	}
	// Without an environment loader, an expression cannot read variables. People paste expressions from strangers, and the environment may
	// contain an API key.
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, Usagef("--jq: %w", err)
	}
	return &JQ{code}, nil
}

// Write applies the expression to a value and writes each result on a line. Strings
// are written without quotes.
func (q *JQ) Write(t Terminal, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps every digit
	if err := decoder.Decode(&plain); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	found := q.code.Run(plain)
	for {
		one, more := found.Next()
		if !more {
			return nil
		}
		if err, failed := one.(error); failed {
			return fmt.Errorf("--jq: %w", err)
		}
		line, err := jqLine(t, one)
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		if _, err := fmt.Fprintln(t.Out, line); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
}

func jqLine(t Terminal, value any) (string, error) {
	text, ok := value.(string)
	switch {
	case !ok:
		line, err := gojq.Marshal(value)
		return string(line), err
	case IsTerminal(t.Out):
		return Printable(text), nil
	}
	return text, nil
}
