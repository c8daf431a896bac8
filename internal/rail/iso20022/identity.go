package iso20022

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"time"

	"bursar/internal/rail"
)

// identityFile contains the random identity of the folder.
const identityFile = "identity"

// Identity implements rail.Recorder.
func (c *Connector) Identity(context.Context) (string, error) {
	text, err := os.ReadFile(c.path("sent", identityFile))
	if errors.Is(err, os.ErrNotExist) {
		_, err = os.Stat(c.path("sent")) // a folder that is missing is not a new one
	}
	return strings.TrimSpace(string(text)), err
}

// Identify implements rail.Recorder.
func (c *Connector) Identify(ctx context.Context, remember func(identity string) error) error {
	return c.locked(ctx, func() error {
		identity, err := c.Identity(ctx)
		if err == nil && identity == "" {
			identity = rand.Text()
			err = c.writeFile("sent", identityFile, []byte(identity+"\n"))
		}
		if err != nil {
			return err
		}
		return remember(identity)
	})
}

// Recorded implements rail.Recorder.
func (c *Connector) Recorded(ctx context.Context, since int64, yield func(p rail.Recorded) error) error {
	oldest := stamp(time.UnixMilli(since))
	return c.locked(ctx, func() error {
		if err := c.recover(); err != nil {
			return err
		}
		files, err := os.ReadDir(c.path("sent"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if !strings.HasSuffix(file.Name(), listEnding) || strings.HasPrefix(file.Name(), ".") || file.Name() < oldest {
				continue
			}
			notes, err := c.noted(file.Name())
			if err != nil {
				return err
			}
			made, _, _ := strings.Cut(file.Name(), "-")
			at, err := time.Parse(stampForm, made)
			if err != nil {
				at = time.UnixMilli(0) // a renamed file may be of any time
			}
			for _, n := range notes {
				if err := yield(rail.Recorded{EndToEndID: n.id, Submission: n.submission, Amount: n.amount, Currency: n.currency,
					AccountID: n.account, Rail: n.rail, ExternalHash: n.externalHash, At: at.UnixMilli()}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Trust implements rail.Recorder.
func (c *Connector) Trust(identity string) { c.trusted.Store(&identity) }

// Hold implements rail.Recorder.
func (c *Connector) Hold(reason string) { c.held.Store(&reason) }

// heldFor returns why nothing is sent, or "".
func (c *Connector) heldFor() string {
	if reason := c.held.Load(); reason != nil {
		return *reason
	}
	return ""
}

// distrust returns why the folder must not be relied on, or "". It is called under the lock, because the folder may have been replaced
// since the last check.
func (c *Connector) distrust(ctx context.Context) (string, error) {
	if reason := c.heldFor(); reason != "" {
		return reason, nil
	}
	trusted := c.trusted.Load()
	if trusted == nil {
		return "", nil // no caller compares it
	}
	identity, err := c.Identity(ctx)
	if err == nil && identity != *trusted {
		return "the folder is not the one that the store knows", nil
	}
	return "", err
}
