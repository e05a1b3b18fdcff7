package emulate_test

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/model/emulate"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
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
	return transporttest.ConnectAll(t, n, func(r int) (*tcp.Endpoint, error) {
		partners, err := barrier.Partners(barrier.Tournament, r, n)
		if err != nil {
			return nil, err
		}
		gr := tcp.Group{Rank: r, Peers: peers, Partners: partners}
		for p := range n {
			if p != r {
				gr.Need = append(gr.Need, tcp.Path{Peer: p, Spine: transport.Single})
			}
		}
		return ls[r].Connect(t.Context(), gr)
	})
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
//
//gate:race
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
