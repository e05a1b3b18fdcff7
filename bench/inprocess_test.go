package bench_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/results"
	"evbench/testing/transporttest"
	"evbench/topology"
	"evbench/transport"
	"evbench/worker"
)

// inProcess is a fabric that exists only in the test. Whatever passes through it takes
// linkTime of virtual time: runs on it are for testing/synctest.
type inProcess struct {
	at        *transporttest.Listener
	info      results.Fabric
	fault     func(*transporttest.Message) transporttest.Action
	installed []string // plan hashes
	refuse    error    // of Install
	// wrap, if set, stands between a worker and its endpoint.
	wrap func(rank int, ep transport.Endpoint) transport.Endpoint

	quick string        // if set, signals of any other barrier take linkTime
	apart time.Duration // between workers that join
	deaf  []uint32      // runs of the session, the first slice is 1, in which rank 1 reaches nobody

	mu   sync.Mutex
	dead []topology.Link                      // whoever has taken them down
	tell func(topology.CableEvent)            // what happens to cables
	nets map[uint32][]*transporttest.Endpoint // by run of the session
	left int                                  // workers that have ended
}

const linkTime = time.Millisecond

// virtual is a fabric that workers join without sockets.
type virtual interface {
	fabric.Fabric
	listen() *transporttest.Listener
	gone() int
}

func (f *inProcess) listen() *transporttest.Listener {
	f.at = transporttest.Listen()
	return f.at
}

func (f *inProcess) dial() *wire.NetConn { return wire.NewConn(f.at.Dial(), wire.MaxFrame) }

func (f *inProcess) Info() results.Fabric { return f.info }

func (f *inProcess) Install(_ context.Context, p *plan.Plan) error {
	f.installed = append(f.installed, p.Hash())
	return f.refuse
}

func (f *inProcess) Counters(context.Context) ([]results.LinkCount, error) { return nil, nil }

func (f *inProcess) Dead() ([]topology.Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.dead), nil
}

// set notes what becomes of links.
func (f *inProcess) set(links []topology.Link, up bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = topology.Minus(f.dead, links)
	if !up {
		f.dead = append(f.dead, links...)
	}
	for _, l := range links {
		f.tell(topology.CableEvent{Cable: l.String(), Up: up, Seen: time.Now()})
	}
}

func (f *inProcess) Check(context.Context, fabric.Joined) (fabric.Checked, error) {
	return fabric.Checked{}, nil
}

func (f *inProcess) WatchCables(_ context.Context, tell func(topology.CableEvent)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell = tell
	return nil
}

func (f *inProcess) Network(*plan.Plan, string) (loop.Network, error) {
	return nil, errors.New("no links die here")
}

func (f *inProcess) SetLinks(context.Context, []topology.Link, bool) error { return nil }

func (f *inProcess) Close() error { return nil }

func (f *inProcess) open(ctx context.Context, c wire.Configure, _ func()) (worker.Connections, error) {
	if c.Rank == 1 && slices.Contains(f.deaf, c.Run) {
		<-ctx.Done()
		return worker.Connections{}, &transport.PeerError{Peer: 2, Op: "connect", Err: ctx.Err()}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nets == nil {
		f.nets = map[uint32][]*transporttest.Endpoint{}
	}
	if f.nets[c.Run] == nil {
		f.nets[c.Run] = transporttest.New(len(c.Peers), f.fault)
	}
	peer := f.nets[c.Run][c.Rank]
	var ep transport.Endpoint = transporttest.Slow{Endpoint: peer, Time: linkTime}
	if f.wrap != nil {
		ep = f.wrap(c.Rank, ep)
	}
	conns := worker.Connections{Endpoint: ep, Signals: peer}
	if f.quick != "" && c.Barrier != f.quick {
		conns.Signals = late{peer}
	}
	return conns, nil
}

// late signals take linkTime.
type late struct{ barrier.Peer }

func (l late) Signal(ctx context.Context, to int, seq uint64) error {
	time.Sleep(linkTime)
	return l.Peer.Signal(ctx, to, seq)
}

func (f *inProcess) MayOpen(_, _ int) error { return nil }

func (f *inProcess) Launch(ctx context.Context, j fabric.Job) (func() error, error) {
	g, ctx := errgroup.WithContext(ctx)
	for rank := range j.Tree.Servers() {
		g.Go(func() error {
			defer f.leave()
			time.Sleep(time.Duration(rank) * f.apart)
			return worker.Run(ctx, worker.Options{Conn: f.dial(), Token: j.Token, Server: j.Tree.Position(rank), Open: f.open})
		})
	}
	return g.Wait, nil
}

func (f *inProcess) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left++
}

// gone is how many workers have ended.
func (f *inProcess) gone() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left
}

// memory is a sink.
type memory struct {
	keeps     results.Keeps
	manifests []results.Manifest
	samples   []results.Sample
	links     []results.LinkCount
	pairs     []results.PairCount
	exchanges []results.ExchangeTime
	plans     map[string][]byte
	early     bool // all plans came before the first manifest
	summary   results.Summary
	full      error // of samples and plans
}

func (m *memory) Keeps() results.Keeps { return m.keeps }

func (m *memory) Write(r results.Record) error {
	switch x := r.(type) {
	case results.Manifest:
		m.manifests = append(m.manifests, x)
	case results.Sample:
		m.samples = append(m.samples, x)
		return m.full
	case results.LinkCount:
		m.links = append(m.links, x)
	case results.PairCount:
		m.pairs = append(m.pairs, x)
	case results.ExchangeTime:
		m.exchanges = append(m.exchanges, x)
	case results.PlanText:
		m.early = len(m.manifests) == 0
		m.plans[x.Case] = x.Text
		return m.full
	case results.Summary:
		m.summary = x
	}
	return nil
}
