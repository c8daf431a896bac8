package db

import "context"

// traced is an engine that tells somebody every statement before it is sent. It
// stands between only where Config.Trace asks for it.
type traced struct {
	engine
	tell func(sql string, args []any)
}

func (t traced) read(ctx context.Context, fn func(conn) error) error {
	return t.engine.read(ctx, func(c conn) error { return fn(tracedConn{c, t.tell}) })
}

func (t traced) write(ctx context.Context, fn func(conn) error) error {
	return t.engine.write(ctx, func(c conn) error { return fn(tracedConn{c, t.tell}) })
}

type tracedConn struct {
	conn
	tell func(sql string, args []any)
}

func (c tracedConn) query(sql string, args []any) (Rows, error) {
	c.tell(sql, args)
	return c.conn.query(sql, args)
}

func (c tracedConn) exec(sql string, args []any) error {
	c.tell(sql, args)
	return c.conn.exec(sql, args)
}
