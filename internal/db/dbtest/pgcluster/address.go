package pgcluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// URL returns the address of a database, for the superuser. Unless schema is
// empty, it is the whole search path.
func (c *Cluster) URL(database, schema string) string {
	if c.opts.TCP {
		return c.url(net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), database, schema, url.Values{})
	}
	return c.socketURL(database, schema)
}

func (c *Cluster) socketURL(database, schema string) string {
	return c.url("", database, schema, url.Values{
		"host": {c.sockets},
		"port": {strconv.Itoa(c.port)},
	})
}

func (c *Cluster) url(host, database, schema string, query url.Values) string {
	query.Set("sslmode", "disable")
	if schema != "" {
		query.Set("search_path", pgx.Identifier{schema}.Sanitize())
	}
	address := url.URL{
		Scheme: "postgres",
		User:   url.User(superuser),
		Host:   host,
		Path:   "/" + database,
		// Like libpq, pgx reads a plus sign as a plus sign and not as a space.
		RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20"),
	}
	return address.String()
}

// NewSchema creates an empty schema for one test, and returns a URL that sees only this schema.
func (c *Cluster) NewSchema(ctx context.Context) (url string, err error) {
	schema := "test_" + strings.ToLower(rand.Text())
	if err := c.exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return "", fmt.Errorf("creating schema %s: %w", schema, err)
	}
	return c.URL(maintenance, schema), nil
}

// NewDatabase creates a database with a new name.
func (c *Cluster) NewDatabase(ctx context.Context, template string) (name string, err error) {
	name = "test_" + strings.ToLower(rand.Text())
	return name, c.CreateDatabase(ctx, name, template)
}

// CreateDatabase creates a database as a copy of another one that has no connections, or an empty one if template is empty.
func (c *Cluster) CreateDatabase(ctx context.Context, name, template string) error {
	sql := "CREATE DATABASE " + name
	if template != "" {
		sql += " TEMPLATE " + template + " STRATEGY file_copy" // takes half as long as wal_log
	}
	if err := c.exec(ctx, sql); err != nil {
		return fmt.Errorf("creating database %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.socketURL(maintenance, ""))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// choosePort returns a free port on 127.0.0.1, below the ports that kernels use for
// outgoing connections. Otherwise such a connection could take the port between Kill and
// Restart, even one of a client that keeps trying to connect to it.
func choosePort(tcp bool) (int, error) {
	const first, count, attempts = 20000, 12000, 100
	if !tcp {
		return first, nil // without TCP, the port is only part of the name of the socket, which has its own folder
	}
	var refused error
	for range attempts {
		port := first + mathrand.IntN(count)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
		refused = err
	}
	return 0, fmt.Errorf("choosing a port: %w", refused)
}
