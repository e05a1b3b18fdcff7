package tcp

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

// group opens n endpoints over loopback, with the same paths between all pairs.
// Every rank has an address of its own for each path.
func group(t testing.TB, n int, o Options, kind string, paths ...int) []*Endpoint {
	t.Helper()
	return groupOf(t, n, o, Group{}, kind, paths...)
}

// groupOf is group with more of the Group set than who belongs to it.
func groupOf(t testing.TB, n int, o Options, like Group, kind string, paths ...int) []*Endpoint {
	t.Helper()
	ls, peers := listeners(t, n, o, paths)
	return transporttest.ConnectAll(t, n, func(r int) (_ *Endpoint, err error) {
		gr := like
		gr.ID, gr.Rank, gr.Peers = 1, r, peers
		for p := range n {
			for _, k := range paths {
				if p != r {
					gr.Need = append(gr.Need, Path{p, k})
				}
			}
		}
		if kind != "" {
			if gr.Partners, err = barrier.Partners(kind, r, n); err != nil {
				return nil, err
			}
		}
		return ls[r].Connect(t.Context(), gr)
	})
}

// listeners listens on 127.0.0.1 and gives out the addresses 127.1.<path+1>.<rank+1>.
func listeners(t testing.TB, n int, o Options, paths []int) ([]*Listener, []Peer) {
	t.Helper()
	ls, peers := make([]*Listener, n), make([]Peer, n)
	for r := range n {
		o := o
		o.Addr = "0.0.0.0:0"
		l := expect.Value(Listen(o))(t)
		t.Cleanup(func() { _ = l.Close() })
		ls[r] = l
		_, port, _ := net.SplitHostPort(l.Addr())
		most := 0
		for _, k := range paths {
			most = max(most, k+1)
		}
		for k := 0; k <= most; k++ {
			peers[r].Addrs = append(peers[r].Addrs, fmt.Sprintf("127.1.%d.%d:%s", k, r+1, port))
		}
	}
	return ls, peers
}

func TestContract(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		t.Run(io, func(t *testing.T) { testContract(t, Options{Token: "t"}, Group{IO: io}) })
	}
}

// The same where a send is done only when the kernel has sent it.
func TestContractDeparted(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		t.Run(io, func(t *testing.T) { testContract(t, Options{Token: "t"}, Group{IO: io, Departed: true}) })
	}
}

func testContract(t *testing.T, o Options, like Group) {
	transporttest.Run(t, func(t *testing.T, n int, paths ...int) []transport.Endpoint {
		var out []transport.Endpoint
		for _, e := range groupOf(t, n, o, like, "", paths...) {
			out = append(out, e)
		}
		return out
	})
}

func TestBarrierContract(t *testing.T) {
	transporttest.RunBarrier(t, func(t *testing.T, n int, kind string) []transporttest.Signaller {
		var out []transporttest.Signaller
		for _, e := range group(t, n, Options{}, kind) {
			out = append(out, e)
		}
		return out
	})
}

// What the receiver had already was not lost; a kernel that does not tell says 0.
func TestLost(t *testing.T) {
	for _, tt := range [][3]uint32{{0, 0, 0}, {5, 0, 5}, {5, 3, 2}, {5, 5, 0}, {2, 3, 0}} {
		got := lost(&unix.TCPInfo{Total_retrans: tt[0], Dsack_dups: tt[1]})
		expect.True(t, got == tt[2], "%d sent again, %d of them twice there: %d lost", tt[0], tt[1], got)
	}
}

// Of connections that are open, those that have sent nothing cost no look at them.
func TestRetransmitsAsksTheBusy(t *testing.T) {
	eps := group(t, 2, Options{}, "", 0, 1, 2, 3)
	e := eps[0]
	sum := e.Retransmits()
	expect.True(t, sum == 0 && len(e.stirred) == 0, "%d sent again, %d of %d connections to look at", sum, len(e.stirred), len(e.conns))
	carries(t, e, eps[1], 2)
	expect.True(t, len(e.stirred) == 1 && e.stirred[0].path == 2, "%d of %d connections to look at", len(e.stirred), len(e.conns))
	for e.Retransmits(); len(e.stirred) > 0; e.Retransmits() { // until the last byte is acknowledged
		runtime.Gosched()
	}
}

// Bytes of a message that its receiver does not take yet have moved all the same, and all have in the end.
func TestMovedWithinAMessage(t *testing.T) {
	const size = 64 << 20 // more than sockets hold
	eps := group(t, 2, Options{}, "", 0)
	var g errgroup.Group
	exchange := func(r int, kind transport.Kind) {
		op := transport.Op{Kind: kind, Peer: 1 - r, Head: make([]byte, transport.HeadSize), Body: eps[r].Alloc(size)}
		g.Go(func() error { return eps[r].Exchange(t.Context(), []transport.Op{op}) })
	}
	exchange(0, transport.Send)
	out := uint64(0)
	for ; out == 0; out = eps[0].Moved(1).Out {
		runtime.Gosched()
	}
	expect.True(t, out < size, "all %d bytes have moved", out)
	exchange(1, transport.Recv)
	expect.Must(t, g.Wait())
	out = eps[0].Moved(1).Out
	in := eps[1].Moved(0).In
	expect.True(t, out > size && in == out, "%d bytes out, %d in", out, in)
}

// An Exchange tells when each receive was done, and the caller's own Op says so.
func TestDone(t *testing.T) {
	eps := group(t, 2, Options{}, "", 0)
	began := time.Now()
	var g errgroup.Group
	for r, e := range eps {
		g.Go(func() error {
			ops := []transport.Op{
				{Kind: transport.Recv, Peer: 1 - r, Head: make([]byte, transport.HeadSize), Body: e.Alloc(1000)},
				{Kind: transport.Send, Peer: 1 - r, Head: make([]byte, transport.HeadSize), Body: e.Alloc(1000)},
			}
			if err := e.Exchange(t.Context(), ops); err != nil {
				return err
			}
			in, out := ops[0].Done, ops[1].Done
			expect.True(t, !in.Before(began) && !in.After(time.Now()) && out.IsZero(),
				"rank %d: received at %v, sent at %v; began at %v", r, in, out, began)
			return nil
		})
	}
	expect.Must(t, g.Wait())
}
