package worker_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
	"evbench/worker"
)

// A rig is a whole session in one process: a controller and n workers on a
// network in memory of its own for each case. Server 10+r has rank r.
type rig struct {
	t   *testing.T
	n   int
	ctl *controller.Controller
	at  *transporttest.Listener

	// wrap, if set, stands between a worker and its endpoint.
	wrap func(rank int, ep transport.Endpoint) transport.Endpoint
	// opening, if set, is what opening connections takes.
	opening func(moved func())
	// extend, if set, opens what a new plan needs.
	extend func(ctx context.Context, ops []transport.Op) error
	// fault, if set, is asked about every message.
	fault func(m *transporttest.Message) transporttest.Action

	// options, if set, changes those of a worker.
	options func(rank int, o *worker.Options)

	// returns: a server that was lost joins again.
	returns bool
	// freezes, if set, stands between a worker and its controller.
	freezes func(rank int, c net.Conn) net.Conn

	mu   sync.Mutex
	nets map[uint32][]*transporttest.Endpoint

	kill  []context.CancelFunc // by rank
	ends  []error
	wg    sync.WaitGroup
	ended bool
}

// A held endpoint does something before each exchange and each poll.
type held struct {
	transport.Endpoint
	before func(ctx context.Context) error
}

func (h held) Exchange(ctx context.Context, ops []transport.Op) error {
	if err := h.before(ctx); err != nil {
		return err
	}
	return h.Endpoint.Exchange(ctx, ops)
}

func (h held) Poll(ctx context.Context, done []transport.Op) (int, error) {
	if err := h.before(ctx); err != nil {
		return 0, err
	}
	return h.Endpoint.Poll(ctx, done)
}

// only wraps the endpoint of one rank.
func (r *rig) only(rank int, wrap func(ep transport.Endpoint) transport.Endpoint) {
	r.wrap = func(of int, ep transport.Endpoint) transport.Endpoint {
		if of == rank {
			return wrap(ep)
		}
		return ep
	}
}

// hold has a rank do something before each exchange and each poll.
func (r *rig) hold(rank int, before func(ctx context.Context) error) {
	r.only(rank, func(ep transport.Endpoint) transport.Endpoint { return held{ep, before} })
}

const linkTime = 5 * time.Millisecond

func newRig(t *testing.T, n int) *rig {
	r := &rig{t: t, n: n, at: transporttest.Listen(), nets: map[uint32][]*transporttest.Endpoint{}, ends: make([]error, n)}
	r.ctl = controller.New(controller.Options{Token: "secret"})
	r.ctl.Serve(r.at)
	return r
}

// start lets all workers join. The session ends with the test, if not before.
func (r *rig) start() *rig {
	r.t.Cleanup(func() { r.stop() })
	for rank := range r.n {
		ctx, cancel := context.WithCancel(context.Background()) // that of the test ends before the session does
		r.kill = append(r.kill, cancel)
		r.wg.Go(func() { r.ends[rank] = r.work(ctx, rank) })
	}
	expect.Must(r.t, r.ctl.Join(r.t.Context(), r.n))
	return r
}

func (r *rig) work(ctx context.Context, rank int) error {
	for {
		conn := r.at.Dial()
		if r.freezes != nil {
			conn = r.freezes(rank, conn)
		}
		o := worker.Options{
			Conn: wire.NewConn(conn, wire.MaxFrame), Token: "secret", Server: 10 + rank, Open: r.open,
		}
		if r.options != nil {
			r.options(rank, &o)
		}
		err := worker.Run(ctx, o)
		if !r.returns || ctx.Err() != nil || !errors.Is(err, worker.ErrLost) && !errors.Is(err, worker.ErrNotJoined) {
			return err
		}
		time.Sleep(100 * time.Millisecond) // as cmd/open does
	}
}

func (r *rig) open(_ context.Context, c wire.Configure, moved func()) (worker.Connections, error) {
	if r.opening != nil {
		r.opening(moved)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nets[c.Run] == nil {
		r.nets[c.Run] = transporttest.New(len(c.Peers), r.fault)
	}
	peer := r.nets[c.Run][c.Rank]
	var ep transport.Endpoint = transporttest.Slow{Endpoint: peer, Time: linkTime}
	if r.wrap != nil {
		ep = r.wrap(c.Rank, ep)
	}
	return worker.Connections{Endpoint: ep, Signals: peer, Extend: r.extend}, nil
}

// stop ends the session; every worker must have ended well, but for those that were killed.
func (r *rig) stop(killed ...int) {
	r.t.Helper()
	if r.ended {
		return
	}
	r.ended = true
	r.ctl.Quit()
	expect.OK(r.t, r.ctl.Close())
	r.wg.Wait()
	for _, rank := range killed {
		r.ends[rank] = nil
	}
	expect.OK(r.t, errors.Join(r.ends...))
	for _, cancel := range r.kill {
		cancel()
	}
}

// rows are those of linear shift, through spine phase mod 3.
func rows(n int) [][]wire.Step {
	out := make([][]wire.Step, n)
	for r := range n {
		for p := range n - 1 {
			out[r] = append(out[r], wire.Step{
				To: (r + p + 1) % n, ToSpine: p % 3, From: (r + n - p - 1) % n, FromSpine: p % 3,
			})
		}
	}
	return out
}

// lasting is a case of a duration. It has a tenth of the samples, each of which is a message of each worker.
func lasting(n int, mode modes.Mode, d time.Duration) controller.Case {
	c := newCase(n, mode)
	c.Exchanges, c.Duration, c.Interval = 0, d, 10*c.Interval
	return c
}

func newCase(n int, mode modes.Mode) controller.Case {
	c := controller.Case{Rows: rows(n), Exchanges: 6, Case: wire.Case{
		Setting: builder.Setting{Name: string(mode), Mode: mode, Credits: 2}, Fragment: 1000, Common: builder.Common{Seed: 1, Warmup: 2, Timeout: 4 * time.Second, Interval: 25 * time.Millisecond, Check: builder.CheckPayload},
	}}
	switch mode {
	case modes.Sync:
		c.Barrier = barrier.Tournament
	case modes.Ordered:
		c.Rows, c.Windows = nil, drawn(n)
	}
	return c
}

// drawn plans windows at random, two servers to a leaf.
func drawn(n int) *worker.Drawn { return &worker.Drawn{Servers: n, PerLeaf: 2, Spines: 1} }

// collect keeps the samples of a case.
func collect(c *controller.Case) *[]results.Sample {
	var all []results.Sample
	c.OnSample = func(s results.Sample) { all = append(all, s) }
	return &all
}

// virtual runs a test in virtual time.
func virtual(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// inModes runs a test in virtual time for each mode.
func inModes(t *testing.T, test func(t *testing.T, mode modes.Mode)) {
	t.Helper()
	for _, mode := range allModes {
		virtual(t, string(mode), func(t *testing.T) { test(t, mode) })
	}
}

var allModes = []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning, modes.Ordered}
