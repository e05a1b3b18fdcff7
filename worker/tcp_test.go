package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/cmd/open"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/testing/expect"
	"evbench/transport"
	"evbench/transport/tcp"
	"evbench/worker"
)

// The whole stack over real sockets: every mode, a change of plan, and a worker that goes away.
//
//gate:race
func TestOverTCP(t *testing.T) {
	const n = 4
	ctl := controller.New(controller.Options{Token: "secret"})
	expect.Must(t, ctl.Listen("unix:"+filepath.Join(t.TempDir(), "control")))
	var wg sync.WaitGroup
	var kill context.CancelFunc
	ends := make([]error, n)
	for rank := range n {
		l := expect.Value(tcp.Listen(tcp.Options{Addr: "127.0.0.1:0", Token: "secret"}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		kill = cancel
		wg.Go(func() {
			defer func() { _ = l.Close() }()
			conn, err := wire.Dial(ctx, ctl.Addr())
			if err != nil {
				ends[rank] = err
				return
			}
			ends[rank] = worker.Run(ctx, worker.Options{
				Conn: conn, Token: "secret", Server: 10 + rank, Data: l.Addr(), Open: open.Sockets{Virtual: true}.Open(l),
			})
		})
	}
	expect.Must(t, ctl.Join(t.Context(), n))
	for _, mode := range allModes {
		c := newCase(n, mode)
		if mode == modes.Ordered {
			c.Standby = everyPath(n, 0)
		}
		c.Fragment, c.Sizes.Spread, c.Exchanges, c.Interval, c.Timeout = 20000, 0.3, 20, 20*time.Millisecond, time.Minute
		o, err := ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Built == o.Assigned && o.Events == 20*n && o.CorruptFragments+o.StrayFragments == 0,
			"%s: %v; %+v", mode, err, o)
	}
	for i, d := range differing {
		c := newCase(n, allModes[i%len(allModes)])
		if c.Mode == modes.Ordered {
			c.Standby = everyPath(n, 0)
		}
		c.Fragment, c.Sizes, c.Exchanges, c.Timeout = 20000, d, 8, time.Minute
		o, err := ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Built == o.Assigned && o.Events == 8*uint64(n) && o.CorruptFragments+o.StrayFragments == 0,
			"%+v: %v; %+v", d, err, o)
	}
	changePlan(t, ctl, n)
	c := newCase(n, modes.Sync)
	c.Exchanges, c.Duration, c.Timeout = 0, time.Hour, time.Minute
	c.OnMeasure = func() { time.AfterFunc(50*time.Millisecond, kill) }
	_, err := ctl.RunCase(t.Context(), c)
	expect.Error(t, err, "server 13: control connection lost")
	expect.OK(t, ctl.Close())
	wg.Wait()
	expect.OK(t, errors.Join(ends[:n-1]...))
}

// everyPath is one path of each rank to each other.
func everyPath(n, spine int) (out [][]wire.Path) {
	for rank := range n {
		var paths []wire.Path
		for peer := range n {
			if peer != rank {
				paths = append(paths, wire.Path{Peer: peer, Spine: spine})
			}
		}
		out = append(out, paths)
	}
	return out
}

// changePlan has workers open paths for a plan, go on over others that are open, without
// synchronisation, and come back.
func changePlan(t *testing.T, ctl *controller.Controller, n int) {
	t.Helper()
	c := newCase(n, modes.Sync)
	c.Exchanges, c.AsyncCredits = 500, 2 // changes are over after thirty, also on a loaded machine, where exchanges take longer, too
	c.Timeout = time.Minute
	c.Standby = everyPath(n, transport.Single)
	updated := make(chan error, 1)
	var sw failover.Switch
	c.OnMeasure = func() {
		time.AfterFunc(10*time.Millisecond, func() {
			var errs []error
			for epoch, p := range []controller.PlanChange{
				{Rows: backwards(rows(n), 9)}, {Mode: modes.Unsync}, {Mode: modes.Unsync, Rows: rows(n)}, {Mode: modes.Sync, Rows: rows(n)},
			} {
				p.Epoch = uint32(epoch) + 1
				var err error
				sw, err = ctl.Update(t.Context(), p, nil)
				errs = append(errs, err)
			}
			updated <- errors.Join(errs...)
		})
	}
	o, err := ctl.RunCase(t.Context(), c)
	if err := errors.Join(err, <-updated); err != nil || o.Built != o.Assigned || o.Exchanges <= sw.From || o.Events != uint64(n)*o.Exchanges || o.StrayFragments != 0 {
		t.Errorf("plan update from %d: %v; built %d of %d in %d exchanges", sw.From, err, o.Built, o.Assigned, o.Exchanges)
	}
}
