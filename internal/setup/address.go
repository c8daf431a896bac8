package setup

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// publicURL is the setting that holds the public address of the server. Commands that
// work on the store directly need it to print links.
const publicURL = "public_url"

// PublicURL returns the public address of the server that runs on the store, or "" if
// none ever ran.
func PublicURL(ctx context.Context, d *db.DB) (address string, err error) {
	err = d.Read(ctx, func(q db.Q) error {
		_, err := q.Row(`SELECT value FROM setting WHERE name = $1`, publicURL).Scan(&address)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the public address: %w", err)
	}
	return address, nil
}

// StorePublicURL remembers the public address of the server. An address that nobody
// configured, because it only follows from the listener, does not replace a public
// one: somebody may have started a second server for a test.
func StorePublicURL(ctx context.Context, d *db.DB, by db.Caller, address string, configured bool) error {
	known, err := PublicURL(ctx, d)
	if err != nil || known == address || known != "" && !configured && !isLoopback(known) {
		return err
	}
	_, err = db.Write(ctx, d, by, func(tx *db.Tx) (struct{}, audit.Event, error) {
		err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, publicURL, address)
		return struct{}{}, audit.None("the public address is part of the server's configuration"), err
	})
	if err != nil {
		return fmt.Errorf("store the public address: %w", err)
	}
	return nil
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}
