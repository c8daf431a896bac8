package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Verdict is the decision of a screening about a payout.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Hold  Verdict = "hold" // a person has to look at it
	Deny  Verdict = "deny"
)

// Screening calls a program or a service of the operator for every payout, such as one that compares payees with sanctions lists. Without
// either every payout is allowed.
type Screening struct {
	// Command is a program with its arguments. It reads the payout as JSON and prints
	// {"decision": "allow", "reason": "…"}, whose decision is a Verdict.
	Command string
	// URL is a service that receives the same by POST and returns the same.
	URL string
}

const (
	screenTimeout = 5 * time.Second
	// MaxCommands is how many commands run concurrently, for all requests of the server.
	MaxCommands = 16
	// maxScreen bounds the response of a screening, in bytes.
	maxScreen = 64 << 10
	// maxReason bounds the stored reason of a screening, in characters.
	maxReason = 500
)

// Screener screens payouts. It bounds how many commands run at once.
type Screener struct {
	screening Screening
	commands  chan struct{} // has one element for each command that runs
}

// NewScreener returns a Screener for all requests of a server.
func NewScreener(s Screening) *Screener {
	return &Screener{screening: s, commands: make(chan struct{}, MaxCommands)}
}

// Screen calls the operator's screening for a payout.
func (s *Service) Screen(ctx context.Context, facts any) (Verdict, string, error) {
	return s.screener.Screen(ctx, facts)
}

// Screen calls the operator's screening for a payout. If it is a command and too many run already, the payout waits for a free slot. After
// screenTimeout it is held.
func (s *Screener) Screen(ctx context.Context, facts any) (Verdict, string, error) {
	if s.screening.Command == "" {
		return s.screening.Screen(ctx, facts)
	}
	turn := time.NewTimer(screenTimeout)
	defer turn.Stop()
	select {
	case s.commands <- struct{}{}:
		defer func() { <-s.commands }()
		return s.screening.Screen(ctx, facts)
	case <-turn.C:
		return Hold, "the screening is too busy", nil
	case <-ctx.Done():
		return Hold, "", ctx.Err()
	}
}

// screenClient follows no redirects: a payout is sent only to the service that the operator has named.
var screenClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Screen calls the screening for a payout, which is sent as JSON. A screening that fails, is late or returns something else holds the
// payout, and the reason describes that. The error is about the facts or ctx only.
func (s Screening) Screen(ctx context.Context, facts any) (Verdict, string, error) {
	if s == (Screening{}) {
		return Allow, "", nil
	}
	sent, err := json.Marshal(facts, json.Deterministic(true))
	if err != nil {
		return Hold, "", fmt.Errorf("write a payout for the screening: %w", err)
	}
	late, cancel := context.WithTimeout(ctx, screenTimeout)
	defer cancel()
	var answer []byte
	if s.URL != "" {
		answer, err = s.post(late, sent)
	} else {
		answer, err = s.run(late, sent)
	}
	if ctx.Err() != nil {
		return Hold, "", ctx.Err()
	}
	if errors.Is(late.Err(), context.DeadlineExceeded) {
		return Hold, fmt.Sprintf("the screening did not answer in %s", screenTimeout), nil
	}
	if err != nil {
		return Hold, "the screening failed: " + cut(err.Error()), nil
	}
	var said struct {
		Decision Verdict `json:"decision"`
		Reason   string  `json:"reason"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Decision != Allow && said.Decision != Hold && said.Decision != Deny {
		return Hold, "the screening answered what is no decision: " + cut(string(answer)), nil
	}
	return said.Decision, cut(said.Reason), nil
}

func (s Screening) post(ctx context.Context, sent []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := screenClient.Do(request)
	if err != nil {
		return nil, errors.New("it cannot be reached") // the error names the address, which may hold a secret
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered with status %d", response.StatusCode)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxScreen))
}

// run runs the command without the environment of the server, which may hold secrets.
func (s Screening) run(ctx context.Context, sent []byte) ([]byte, error) {
	parts := strings.Fields(s.Command)
	command := exec.CommandContext(ctx, parts[0], parts[1:]...)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	command.Stdin = bytes.NewReader(sent)
	answer := &boundedBuffer{}
	command.Stdout = answer
	endsTogether(command)
	command.WaitDelay = time.Second // for processes that it has started and left behind
	err := command.Run()
	return answer.Bytes(), err
}

// boundedBuffer keeps the beginning of what is written to it.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxScreen-b.Len())])
	return len(p), nil
}

func cut(text string) string {
	if runes := []rune(strings.ToValidUTF8(text, "�")); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
