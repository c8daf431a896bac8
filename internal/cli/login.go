package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/profile"
	"bursar/internal/cli/term"
)

// defaultURL is the server if none is configured.
const defaultURL = "http://127.0.0.1:8080"

func newLogin(r *remote) *cobra.Command {
	var withToken, noBrowser, wait bool
	var name string
	c := &cobra.Command{
		Use:   "login [URL]",
		Short: "Sign in to a server",
		Long: `Sign in to a server. The command shows a code and opens a browser, where you
sign in and approve the code. It waits for your approval for up to ten
minutes. Nobody else can use the code, even if they see it.

In a script, pass an API key or a session token on standard input with
--with-token, or set BURSAR_URL and BURSAR_API_KEY and do not log in at all.
Without a terminal the command does not wait for an approval, unless you pass
--wait.

The credential is stored in the system keyring if there is one, else in a file
that only you can read. BURSAR_KEYRING=off always uses the file. Signing in to
another server adds a context; see 'bursar context'.`,
		Example: `  bursar login https://pay.example.com
  bursar login https://pay.example.com --no-browser
  bursar login https://pay.example.com --with-token < key.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := r.files()
			if err != nil {
				return err
			}
			url, err := r.loginURL(f.profile, args)
			if err != nil {
				return err
			}
			var held profile.Credential
			if withToken {
				held, err = r.readToken(c.Context())
			} else {
				if !wait && !term.IsTerminal(r.terminal.Err) {
					return term.Usagef("this is not a terminal, so nobody may see the code to approve: in a script, set BURSAR_URL and BURSAR_API_KEY instead, or pass an API key on standard input with --with-token; to wait for an approval nevertheless, pass --wait")
				}
				held, err = r.deviceLogin(c.Context(), url, noBrowser)
			}
			if err != nil {
				return err
			}
			return r.remember(c.Context(), f, name, url, held)
		},
	}
	c.Flags().BoolVar(&withToken, "with-token", false, "read an API key or a session token from standard input")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "show the address but do not open a browser")
	c.Flags().BoolVar(&wait, "wait", false, "wait for an approval even if this is not a terminal")
	c.Flags().StringVar(&name, "name", "", "name of the context; default the host name of the server")
	return c
}

func (r *remote) loginURL(p *profile.Profile, args []string) (string, error) {
	_, chosen, err := r.target(p)
	if err != nil {
		return "", err
	}
	url := r.terminal.Getenv("BURSAR_URL")
	switch {
	case len(args) == 1:
		url = args[0]
	case url == "" && chosen != nil:
		url = chosen.URL
	case url == "":
		url = defaultURL
	}
	return profile.ServerURL(url), nil
}

func (r *remote) readToken(ctx context.Context) (profile.Credential, error) {
	text, err := io.ReadAll(io.LimitReader(newPatientReader(ctx, r.terminal.In), 64<<10))
	if err != nil {
		return profile.Credential{}, fmt.Errorf("read standard input: %w", err)
	}
	held, err := profile.ParseCredential(string(text))
	if err != nil {
		return profile.Credential{}, term.Usage(err)
	}
	return held, nil
}

// deviceLogin requests a code, shows it, and waits until it is approved or denied.
func (r *remote) deviceLogin(ctx context.Context, url string, noBrowser bool) (profile.Credential, error) {
	c, err := newClient(url, profile.Credential{})
	if err != nil {
		return profile.Credential{}, err
	}
	verifier, challenge := client.NewCodeVerifier()
	code, err := c.Auth.DeviceCode(ctx, "sign in to the bursar command line", challenge)
	if err != nil {
		return profile.Credential{}, fmt.Errorf("ask %s for a code: %w", url, err)
	}
	out := r.terminal.Err
	if !strings.HasPrefix(code.VerificationURL, "http://") && !strings.HasPrefix(code.VerificationURL, "https://") {
		return profile.Credential{}, fmt.Errorf("%s sent no address at which to approve the code: is it a Bursar server?", url)
	}
	fmt.Fprintf(out, "To sign in, open\n\n  %s\n\nand approve the code  %s\n\n", term.Printable(code.VerificationURL), term.Printable(code.Code))
	if !noBrowser && r.terminal.Interactive() {
		openBrowser(out, code.VerificationURL)
	}
	token, err := r.awaitApproval(ctx, c, code, verifier)
	if err != nil {
		return profile.Credential{}, err
	}
	return profile.Credential{Token: token, ExpiresAt: profile.TokenExpiry(token)}, nil
}

// openBrowser opens an address if there is a browser. Some programs that open a browser run as long as the browser, so it waits only
// briefly.
func openBrowser(out io.Writer, url string) {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	opened := make(chan error, 1)
	go func() { opened <- browser.OpenURL(url) }()
	select {
	case err := <-opened:
		if err != nil {
			fmt.Fprintln(out, "Could not open a browser: open the address yourself.")
		}
	case <-time.After(2 * time.Second):
	}
}

// awaitApproval polls until the code is approved or denied. On a screen it shows a
// countdown.
func (r *remote) awaitApproval(ctx context.Context, c *client.Client, code *client.DeviceCode, verifier string) (string, error) {
	live := term.IsTerminal(r.terminal.Err)
	deadline := time.Unix(code.ExpiresAt, 0)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer func() {
		if live {
			fmt.Fprint(r.terminal.Err, "\r\x1b[K")
		}
	}()
	interval := max(1, code.Interval)
	for n := 0; ; n++ {
		if n%interval == 0 {
			polled, err := c.Auth.PollDeviceCode(ctx, code.Code, verifier)
			switch {
			case err != nil && (ctx.Err() != nil || !retryable(err)):
				return "", fmt.Errorf("wait for approval: %w", err)
			case err == nil && polled.Token != "":
				return polled.Token, nil
			case err == nil && polled.Status == "denied":
				return "", errors.New("the code was denied in the browser: you are not signed in")
			case err == nil && polled.Status != "pending":
				return "", fmt.Errorf("the code is %s: run 'bursar login' again", polled.Status)
			}
		}
		left := time.Until(deadline).Round(time.Second)
		if left <= 0 {
			return "", errors.New("nobody approved the code in time: run 'bursar login' again")
		}
		if live {
			fmt.Fprintf(r.terminal.Err, "\r\x1b[KWaiting for approval, %d:%02d left", int(left.Minutes()), int(left.Seconds())%60)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", fmt.Errorf("wait for approval: %w", ctx.Err())
		}
	}
}

// remember tests a credential, stores it, and greets the user.
func (r *remote) remember(ctx context.Context, f files, name, url string, held profile.Credential) error {
	c, err := newClient(url, held)
	if err != nil {
		return err
	}
	me, err := c.Auth.Me(ctx)
	if err != nil {
		return fmt.Errorf("sign in to %s: %w", url, err)
	}
	if name == "" {
		name = profile.ContextName(url)
	}
	held.URL = url
	where, err := f.credentials.Store(name, held)
	if err != nil {
		return err
	}
	chosen := f.profile.Contexts[name]
	if chosen == nil || chosen.URL != url {
		chosen = &profile.Context{URL: url}
		f.profile.Contexts[name] = chosen
	}
	chosen.User = me.Email
	f.profile.Current = name
	if err := f.profile.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.terminal.Err, "Welcome, %s. You are signed in to %s. The credential is stored in %s.\n", term.Printable(called(me.User)), url, where)
	return err
}

// called returns the display name of a user: the name, or else the email address or the id.
func called(u api.User) string {
	switch {
	case u.Name != "":
		return u.Name
	case u.Email != "":
		return u.Email
	}
	return u.ID
}
