package db

import (
	"context"

	"bursar/internal/db/engine"
)

// tracedEngine calls trace with every statement before it is sent.
type tracedEngine struct {
	engine.Engine
	trace func(sql string, args []any)
}

func (e tracedEngine) Read(ctx context.Context, fn func(engine.Conn) error) error {
	return e.Engine.Read(ctx, func(c engine.Conn) error { return fn(tracedConn{c, e.trace}) })
}

func (e tracedEngine) List(ctx context.Context, fn func(engine.Conn) error) error {
	return e.Engine.List(ctx, func(c engine.Conn) error { return fn(tracedConn{c, e.trace}) })
}

func (e tracedEngine) Write(ctx context.Context, fn func(engine.Conn) error) error {
	return e.Engine.Write(ctx, func(c engine.Conn) error { return fn(tracedConn{c, e.trace}) })
}

type tracedConn struct {
	engine.Conn
	trace func(sql string, args []any)
}

func (c tracedConn) Query(sql string, args []any) (Rows, error) {
	c.trace(sql, args)
	return c.Conn.Query(sql, args)
}

func (c tracedConn) Exec(sql string, args []any) error {
	c.trace(sql, args)
	return c.Conn.Exec(sql, args)
}
