package ibtest

import (
	"bytes"
	"context"
	"fmt"
	"syscall"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// A Live is an OpenSM that keeps running while cables of its network are pulled
// and plugged in.
type Live struct {
	net    *network.Network
	run    *run
	sm     *process
	cancel context.CancelFunc
	ctx    context.Context
	engine string // that configured the tables last
}

// Start starts OpenSM and returns when the network is up. Close it.
func Start(ctx context.Context, n *network.Network, engine string, roots []network.Node, args ...string) (*Live, error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	r, err := prepare(ctx, n, roots)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &Live{net: n, run: r, cancel: cancel, ctx: ctx}
	l.sm, err = start(r.command(ctx, "opensm", r.args(engine, args...)...))
	if err == nil {
		err = l.up()
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// up waits until tables are configured and the network is up.
func (l *Live) up() error {
	line, err := l.sm.wait(l.ctx, " tables configured on all switches")
	if err != nil {
		return fmt.Errorf("opensm: %w", err)
	}
	l.engine = lastEngine([]byte(line))
	if _, err := l.sm.wait(l.ctx, "SUBNET UP"); err != nil {
		return fmt.Errorf("opensm: %w", err)
	}
	return nil
}

// Unlink pulls the cable at a port and waits until OpenSM has routed anew.
func (l *Live) Unlink(e network.End) error { return l.change("Unlink", e) }

// Relink plugs it in again, into the same port of the same switch.
func (l *Live) Relink(e network.End) error { return l.change("ReLink", e) }

func (l *Live) change(what string, e network.End) error {
	if err := l.enter(what, e); err != nil {
		return err
	}
	return l.up()
}

// sweep sends the signal that makes OpenSM read its files and route anew.
func (l *Live) sweep() error {
	if err := l.sm.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	return l.up()
}

// Tables reads the tables of all switches back. The network is the one that
// the Live was started with.
func (l *Live) Tables() (*lft.Tables, error) {
	out, err := l.run.command(l.ctx, "dump_fts").Output()
	if err != nil {
		return nil, fmt.Errorf("dump_fts: %w", err)
	}
	return readTables(l.net, l.engine, bytes.NewReader(out))
}

// Close stops everything.
func (l *Live) Close() {
	if l.sm != nil {
		l.sm.stop()
	}
	l.run.close()
	l.cancel()
}
