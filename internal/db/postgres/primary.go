package postgres

import (
	"errors"
	"os"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// targetInURL finds the attribute in a URL, and in text of the form name=value.
var targetInURL = regexp.MustCompile(`\btarget_session_attrs\s*=\s*'?([a-z-]+)`)

// wantPrimary makes a URL with several hosts select the primary, unless the URL specifies otherwise.
func wantPrimary(config *pgx.ConnConfig, text string) error {
	requested := os.Getenv("PGTARGETSESSIONATTRS")
	if found := targetInURL.FindStringSubmatch(text); found != nil {
		requested = found[1]
	}
	switch requested {
	case "":
		for _, other := range config.Fallbacks {
			if other.Host != config.Host || other.Port != config.Port { // not the same host without TLS
				config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
			}
		}
	case "read-write":
		// Each session begins read-only transactions by default, so every server looks like a
		// standby to this attribute.
		return errors.New("the database URL has target_session_attrs=read-write, with which no server would ever do: use primary instead")
	}
	return nil
}

// errLost is the error of a connection that failed, or whose server is no longer the primary,
// before anything was committed.
var errLost = errors.New("the connection to the primary is lost")

// onError closes a connection to a server that shuts down or is not the primary, together with all
// others of the pool. They are to the same server and would fail one after the other.
func (e *Engine) onError(c *pgconn.PgConn, err *pgconn.PgError) bool {
	if isStandby(err.Code) || isShutdown(err.Code) {
		if c.PID() != 0 { // otherwise one of several hosts refuses to connect
			e.reset()
		}
		return false
	}
	return err.SeverityUnlocalized != "FATAL"
}

// isStandby reports whether an error code means that the server is not, or is no longer, the primary.
func isStandby(code string) bool {
	// The former is "cannot set transaction read-write mode during recovery".
	return code == featureNotSupported || code == readOnlyTransaction
}

// isShutdown reports whether an error code means that the server is shutting down or
// starting up.
func isShutdown(code string) bool {
	return code == adminShutdown || code == crashShutdown || code == cannotConnectNow
}

// resetEvery bounds how often the pool is emptied, since many connections fail at once.
const resetEvery = time.Second

// reset closes all connections of the pool, those in use when they are released.
func (e *Engine) reset() {
	now := time.Now().UnixNano()
	last := e.resetAt.Load()
	if pool := e.ready.Load(); pool != nil && now-last > int64(resetEvery) && e.resetAt.CompareAndSwap(last, now) {
		pool.Reset()
	}
}

// lost reports whether the connection was lost for a reason other than a caller who has left.
func (c *conn) lost(err error) bool {
	return err != nil && c.db != nil && c.db.IsClosed() && c.ctx.Err() == nil
}

// AwaitStandby writes a message without a reader to the write-ahead log, so that the commit of the
// transaction waits for synchronous standbys.
const AwaitStandby = `SELECT pg_logical_emit_message(true, 'bursar', '')`

// unconfirmed is the key under which a connection records such a warning.
const unconfirmed = "unconfirmed"

// onNotice records the server's warning that it no longer waits for the standby. After the warning
// the server answers COMMIT as usual, although the transaction is lost if the standby is promoted.
func onNotice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" { // not translated, in any language of the server
		c.CustomData()[unconfirmed] = true
	}
}
