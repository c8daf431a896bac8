package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ready is what the benchmark needs to know of the store.
type ready struct {
	SessionToken string   `json:"session_token"`
	IdentityIDs  []string `json:"identity_ids"` // the first ones of the list
}

const patience = 30 * time.Second

func setup(ctx context.Context, s settings, entries int) (ready, error) {
	var err error
	if s.public, err = freeAddress(); err != nil {
		return ready{}, err
	}
	if s.admin, err = freeAddress(); err != nil {
		return ready{}, err
	}
	path, err := s.write()
	if err != nil {
		return ready{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return ready{}, fmt.Errorf("find this program: %w", err)
	}
	if said, err := exec.CommandContext(ctx, self, "migrate", "sql", "--config", path, "--read-from-env", "--yes").CombinedOutput(); err != nil {
		return ready{}, fmt.Errorf("migrate: %w: %s", err, said)
	}
	var got ready
	if got.SessionToken, err = signUp(ctx, self, s); err != nil {
		return ready{}, err
	}
	if got.IdentityIDs, err = fill(ctx, s.dsn, entries); err != nil {
		return ready{}, fmt.Errorf("fill: %w", err)
	}
	return got, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// signUp runs a server for as long as it takes to register.
func signUp(ctx context.Context, self string, s settings) (token string, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var said bytes.Buffer
	server := exec.CommandContext(ctx, self, "serve", "--dir", s.dir, "--dsn", s.dsn, "--public", s.public, "--admin", s.admin)
	server.Stdout, server.Stderr = &said, &said
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = patience
	if err := server.Start(); err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait() // it is stopped below, which is an error
	}()
	defer func() {
		stop()
		<-ended
		if err != nil {
			err = fmt.Errorf("register: %w: %s", err, said.Bytes())
		}
	}()
	var flow struct{ UI struct{ Action string } }
	for call(ctx, http.MethodGet, "http://"+s.public+"/self-service/registration/api", "", &flow) != nil {
		select {
		case <-ended:
			return "", fmt.Errorf("the server ended")
		case <-ctx.Done():
			return "", fmt.Errorf("wait for the server: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	var registered struct {
		Token string `json:"session_token"`
	}
	body := `{"method":"password","password":"correct-horse-battery","traits":{"email":"bench@example.com","name":"Bench"}}`
	if err := call(ctx, http.MethodPost, flow.UI.Action, body, &registered); err != nil {
		return "", err
	}
	if registered.Token == "" {
		return "", fmt.Errorf("no session was given")
	}
	return registered.Token, nil
}

func call(ctx context.Context, method, url, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, url, response.Status, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}
