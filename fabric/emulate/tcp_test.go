package emulate_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/fabric/emulate"
	"evbench/internal/expect"
	"evbench/plan"
	"evbench/topology"
	"evbench/transport"
	"evbench/transport/tcp"
)

// endpoints opens one endpoint per rank over loopback, paced by p.
func endpoints(t testing.TB, n int, p tcp.Pacer) []*tcp.Endpoint {
	t.Helper()
	ls, peers := make([]*tcp.Listener, n), make([]tcp.Peer, n)
	for r := range n {
		l := expect.Value(tcp.Listen(tcp.Options{Addr: "127.0.0.1:0", Pace: p}))(t)
		t.Cleanup(func() { _ = l.Close() })
		ls[r], peers[r].Addrs = l, []string{l.Addr()}
	}
	eps := make([]*tcp.Endpoint, n)
	var g errgroup.Group
	for r, l := range ls {
		g.Go(func() error {
			gr := tcp.Group{Rank: r, Peers: peers}
			for p := range n {
				if p != r {
					gr.Need = append(gr.Need, tcp.Path{Peer: p, Spine: transport.Single})
				}
			}
			var err error
			if gr.Partners, err = barrier.Partners(barrier.Tournament, r, n); err == nil {
				eps[r], err = l.Connect(t.Context(), gr)
			}
			return err
		})
	}
	expect.Must(t, g.Wait())
	t.Cleanup(func() {
		for _, e := range eps {
			_ = e.Close()
		}
	})
	return eps
}

// A mender brings the dead link up when it has held back a few chunks.
type mender struct {
	*emulate.Fabric
	mu   sync.Mutex
	left int
	mend func()
}

func (m *mender) Reserve(src, dst, path, bytes int, now time.Time) (time.Time, int, bool) {
	ready, flight, ok := m.Fabric.Reserve(src, dst, path, bytes, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ok {
		if m.left--; m.left == 0 {
			m.mend()
		}
	}
	return ready, flight, ok
}

// A message waits at a dead link and goes on when it is up again.
func TestOutage(t *testing.T) {
	healthy, f := fabric(t, "FT(2;1,2)")
	dead := expect.Value(healthy.Without(topology.Link{}))(t)
	f.Install(dead, func(int, int) int { return 0 })
	m := &mender{Fabric: f, left: 4, mend: func() { f.SetTree(healthy) }}
	eps := endpoints(t, 2, m)
	var g errgroup.Group
	for _, e := range eps {
		g.Go(func() error { return e.Exchange(t.Context(), messages(1-e.Rank(), 1-e.Rank(), 100_000)) })
	}
	expect.Must(t, g.Wait())
	expect.True(t, m.left <= 0, "the dead link held back %d chunks only", 4-m.left)
}

func messages(to, from, size int) []transport.Op {
	op := func(k transport.Kind, peer int) transport.Op {
		return transport.Op{Kind: k, Peer: peer, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: make([]byte, size)}
	}
	return []transport.Op{op(transport.Send, to), op(transport.Recv, from)}
}

// BenchmarkLinearShift reports the efficiency of exchanges over real sockets, and that which the plan predicts.
func BenchmarkLinearShift(b *testing.B) {
	for _, c := range []struct {
		name string
		dead []topology.Link
	}{{"healthy", nil}, {"leaf0-spine0", []topology.Link{{}}}} {
		b.Run(c.name, func(b *testing.B) { benchLinearShift(b, c.dead) })
	}
}

func benchLinearShift(b *testing.B, dead []topology.Link) {
	const size = 625_000 // 50 ms at 100 Mbit/s
	healthy := expect.Value(topology.New(topology.Options{Ports: 4, Leaves: 4}))(b)
	tree := expect.Value(healthy.Without(dead...))(b)
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift", Routing: "minhop"}))(b)
	f := emulate.New(emulate.Options{Tree: tree, Rate: rate, MTU: 9000})
	f.Install(tree, p.Spine)
	n := tree.Servers()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	eps := endpoints(b, n, f)
	b.ResetTimer()
	var g errgroup.Group
	for _, e := range eps {
		g.Go(func() error { return exchanges(b, e, n, size) })
	}
	expect.Must(b, g.Wait())
	const goodput = float64(9000-52) / (9000 + 14) // what the headers of full packets leave
	ideal := float64(b.N*(n-1)*size) * 8 / rate / goodput
	b.ReportMetric(ideal/b.Elapsed().Seconds(), "efficiency")
	b.ReportMetric(p.Cost(plan.Equal, 0).Synchronised(), "predicted")
}

func exchanges(b *testing.B, e *tcp.Endpoint, n, size int) error {
	w, err := barrier.New(barrier.Tournament, e.Rank(), n)
	if err != nil {
		return err
	}
	ops := messages(0, 0, size)
	for i := range b.N * (n - 1) {
		p := 1 + i%(n-1)
		ops[0].Peer, ops[1].Peer = (e.Rank()+p)%n, (e.Rank()+n-p)%n
		if err := e.Exchange(b.Context(), ops); err != nil {
			return err
		}
		if err := w.Wait(b.Context(), e); err != nil {
			return err
		}
	}
	return nil
}
