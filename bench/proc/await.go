package proc

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

const startLimit = time.Minute

// Probe is a request that a server answers with 200 once it is up.
type Probe struct {
	URL    string
	Header map[string]string
}

// Await asks until the server answers.
func (p *Process) Await(ctx context.Context, probe Probe) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx, client, probe)
		if err == nil {
			return nil
		}
		if died := p.Died(); died != nil {
			return died
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the first answer: %w; last: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, client *http.Client, probe Probe) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, probe.URL, nil)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	for name, value := range probe.Header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.200s", response.Status, body)
	}
	return nil
}

// FreeAddress is one that nobody listens at. It lies below the ports that kernels
// give to outgoing connections, so none of those takes it before the server does.
func FreeAddress() (string, error) {
	const first, count, attempts = 20000, 12000, 100
	var refused error
	for range attempts {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(count)))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		refused = err
	}
	return "", fmt.Errorf("find a free port: %w", refused)
}
