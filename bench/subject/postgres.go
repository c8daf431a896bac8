package subject

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"bursar/internal/db/dbtest/pgcluster"
)

// Postgres is a server that all subjects on PostgreSQL share. It syncs commits to disk, as
// PostgreSQL does by default.
type Postgres struct {
	Version string
	cluster *pgcluster.Cluster
}

// StartPostgres starts it. It fails with pgcluster.ErrNotInstalled if PostgreSQL is missing.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	cluster, err := pgcluster.Start(ctx, "", pgcluster.Options{TCP: true, Durable: true, Settings: []string{
		"shared_buffers=512MB", // the usual quarter of a small machine's memory
		"max_connections=300",  // wrk leaves without its last answers, and servers replace the connections that those had
		"max_wal_size=4GB",     // no checkpoint of the filling falls into the measurements
	}})
	if err != nil {
		return nil, err
	}
	pg := &Postgres{cluster: cluster}
	err = pg.query(ctx, cluster.URL("postgres", ""), `SHOW server_version`, &pg.Version)
	if err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	pg.Version, _, _ = strings.Cut(pg.Version, " ") // the rest is about the package
	return pg, nil
}

// Stop stops the server and removes its files.
func (p *Postgres) Stop() error { return p.cluster.Stop() }

func (p *Postgres) schema(ctx context.Context) (url string, err error) {
	url, err = p.cluster.NewSchema(ctx)
	return url, err
}

func (p *Postgres) database(ctx context.Context, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, p.cluster.URL("postgres", ""))
	if err != nil {
		return "", fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	return p.cluster.URL(name, ""), nil
}

// size returns the size of all tables of a schema and their indexes.
func (p *Postgres) size(ctx context.Context, url string) (bytes int64, err error) {
	err = p.query(ctx, url, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = current_schema()`, &bytes)
	return bytes, err
}

func (p *Postgres) query(ctx context.Context, url, sql string, into any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	err = conn.QueryRow(ctx, sql).Scan(into)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("ask PostgreSQL: %w", err)
	}
	return nil
}
