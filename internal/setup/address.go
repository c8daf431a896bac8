package setup

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// Commands that work on the store directly need the public address of the server to print links. A configured address is stored separately
// from one that is derived from the listener. A second server, started for a test, must not replace the configured one, and the derived one
// changes with the machine.
const (
	configuredURL = "public_url"
	listenerURL   = "listener_url"
)

// PublicURL returns the public address of the server that runs on the store, or "" if it is unknown.
func PublicURL(ctx context.Context, d *db.DB) (address string, err error) {
	err = d.Read(ctx, func(q db.Q) error {
		for _, name := range []string{configuredURL, listenerURL} {
			if found, err := q.Row(`SELECT value FROM setting WHERE name = $1`, name).Scan(&address); err != nil || found {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the public address: %w", err)
	}
	if isUnspecified(address) {
		return "", nil // a listener on all addresses has none that a link could use
	}
	return address, nil
}

// StorePublicURL stores the public address of the server.
func StorePublicURL(ctx context.Context, d *db.DB, by db.Caller, address string, configured bool) error {
	name := listenerURL
	if configured {
		name = configuredURL
	}
	var known string
	err := d.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT value FROM setting WHERE name = $1`, name).Scan(&known)
		return err
	})
	if err == nil && known != address {
		_, err = db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
			err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, address)
			return struct{}{}, audit.None("the public address is part of the server's configuration"), err
		})
	}
	if err != nil {
		return fmt.Errorf("store the public address: %w", err)
	}
	return nil
}

func isUnspecified(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsUnspecified()
}
