package rdma

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
	"evbench/transport/tcp"
)

// A fabric opens devices of servers, and connects endpoints on them.
type fabric struct {
	devices []device
	like    Group  // what else the groups are told
	kind    string // of barrier; "": none
}

// memory is a fabric in memory.
func memFabric(n, spines int) (fabric, *cable) {
	c := &cable{queues: map[uint32]*memQueue{}, cut: map[int]bool{}}
	f := fabric{}
	for _, p := range ports(n, spines) {
		f.devices = append(f.devices, memDevice{c, p})
	}
	return f, c
}

// open connects all ranks over the given paths between all pairs.
func (f fabric) open(t testing.TB, paths ...int) []*Endpoint {
	t.Helper()
	n := len(f.devices)
	ls := make([]*Listener, n)
	var peers []Peer
	for r, d := range f.devices {
		l := expect.Value(listen(Options{Addr: "127.0.0.1:0", Token: "t"}, d))(t)
		t.Cleanup(func() { expect.OK(t, l.Close()) })
		ls[r] = l
		peers = append(peers, Peer{l.Addr(), l.Port()})
	}
	return transporttest.ConnectAll(t, n, func(r int) (_ *Endpoint, err error) {
		gr := f.like
		gr.ID, gr.Rank, gr.Peers = 1, r, peers
		for p := range n {
			for _, k := range paths {
				if p != r {
					gr.Need = append(gr.Need, tcp.Path{Peer: p, Spine: k})
				}
			}
		}
		if f.kind != "" {
			if gr.Partners, err = barrier.Partners(f.kind, r, n); err != nil {
				return nil, err
			}
		}
		return ls[r].Connect(t.Context(), gr)
	})
}

func TestContract(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int, paths ...int) (out []transport.Endpoint) {
		f, _ := memFabric(n, 4)
		for _, e := range f.open(t, paths...) {
			out = append(out, e)
		}
		return out
	})
}

func TestBarrierContract(t *testing.T) {
	transporttest.RunBarrier(t, func(t *testing.T, n int, kind string) (out []transporttest.Signaller) {
		f, _ := memFabric(n, 0)
		f.kind = kind
		for _, e := range f.open(t) {
			out = append(out, e)
		}
		return out
	})
}

// TestTranslated: a peer whose set-up comes from another address than its own is refused by name: a plan of ports asked about other headers.
func TestTranslated(t *testing.T) {
	f, _ := memFabric(2, 0)
	ls := make([]*Listener, 2)
	for r, at := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		ls[r] = expect.Value(listen(Options{Addr: at, Token: "t"}, f.devices[r]))(t)
		defer ls[r].Close()
	}
	port := ls[0].Addr()[strings.LastIndexByte(ls[0].Addr(), ':')+1:]
	g := Group{ID: 1, Ports: true, Peers: []Peer{{"127.0.0.1:" + port, ls[0].Port()}, {ls[1].Addr(), ls[1].Port()}}}
	other := g
	other.Rank, other.Peers = 1, []Peer{{"127.0.0.2:" + port, ls[0].Port()}, g.Peers[1]} // whose connections come from 127.0.0.1
	ctx, refused := context.WithCancel(t.Context())
	var both errgroup.Group
	both.Go(func() error {
		if e, err := ls[0].Connect(t.Context(), g); err == nil {
			<-ctx.Done()
			_ = e.Close()
		}
		return nil
	})
	e, err := ls[1].Connect(t.Context(), other)
	if err == nil { // it came before the connection
		_, err = e.Poll(t.Context(), make([]transport.Op, 1))
		_ = e.Close()
	}
	expect.Error(t, err, "rank 0: its connection comes from 127.0.0.1:")
	expect.Error(t, err, "and left from 127.0.0.2:")
	refused()
	expect.OK(t, both.Wait())
}

// messages of a size from rank 0 to rank 1, and the receives for them.
func messages(eps []*Endpoint, path, size, n int) (out, in []transport.Op) {
	for i := range n {
		out = append(out, transport.Op{Kind: transport.Send, Peer: 1, Path: path, ID: uint64(i), Head: make([]byte, headSize), Body: eps[0].Alloc(size)})
		in = append(in, transport.Op{Kind: transport.Recv, Peer: 0, Path: path, ID: uint64(i), Head: make([]byte, headSize), Body: eps[1].Alloc(size)})
	}
	return out, in
}

// Where sends have to arrive, one of a byte is not done before somebody has received it.
func TestDeparted(t *testing.T) {
	f, _ := memFabric(2, 0)
	f.like.Departed = true
	eps := f.open(t, transport.Single)
	out, in := messages(eps, transport.Single, 1, 1)
	expect.Must(t, eps[0].Post(out))
	eps[0].Wake()
	done := make([]transport.Op, 4)
	n, err := eps[0].Poll(t.Context(), done)
	expect.True(t, n <= 0 && err == nil, "Poll() = %d, %v, nobody has received", n, err)
	expect.Must(t, eps[1].Post(in))
	for _, e := range eps {
		if n, err := e.Poll(t.Context(), done); n != 1 || err != nil {
			t.Errorf("rank %d: Poll() = %d, %v", e.Rank(), n, err)
		}
	}
}

// What a rank has received before it closes has arrived, though its acknowledgement is lost.
func TestLostAcknowledgement(t *testing.T) {
	f, c := memFabric(2, 0)
	f.like.Departed = true
	eps := f.open(t, transport.Single)
	out, in := messages(eps, transport.Single, 10_000, 1)
	var g errgroup.Group
	g.Go(func() error {
		c.lose(true)
		return errors.Join(eps[1].Exchange(t.Context(), in), eps[1].Close())
	})
	expect.Must(t, eps[0].Exchange(t.Context(), out))
	expect.Must(t, g.Wait())
}

// A dead path is named with the rank, and other endpoints go on.
func TestDeadPath(t *testing.T) {
	f, c := memFabric(2, 3)
	eps := f.open(t, 0, 2)
	c.cut[2] = true
	out, _ := messages(eps, 2, 10, 1)
	err := eps[0].Exchange(t.Context(), append(out, messagesLarge(eps)...))
	var pe *transport.PeerError
	expect.True(t, errors.As(err, &pe) && pe.Peer == 1 && strings.Contains(err.Error(), "spine2 (10.3.0.2)"),
		"Exchange() = %v, want an error that names rank 1 and spine2", err)
}

func messagesLarge(eps []*Endpoint) []transport.Op {
	out, _ := messages(eps, 0, 1<<20, 1)
	return out
}

// Memory that cannot be locked ends the endpoint before it is used.
func TestLockedMemory(t *testing.T) {
	f, c := memFabric(2, 0)
	eps := f.open(t, transport.Single)
	c.locked = 1 << 20
	expect.Equal(t, len(eps[0].Alloc(2<<20)), 2<<20, "bytes")
	err := eps[0].Post(nil)
	expect.Error(t, err, "may lock 1048576 bytes")
}

// Who has another port than the others is refused before a queue pair is opened.
func TestConnectRefuses(t *testing.T) {
	f, _ := memFabric(2, 0)
	l := expect.Value(listen(Options{Addr: "127.0.0.1:0"}, f.devices[0]))(t)
	defer l.Close()
	other := f.devices[1].port()
	other.MTU = 1024
	_, err := l.Connect(t.Context(), Group{Peers: []Peer{{"127.0.0.1:1", f.devices[0].port()}, {"127.0.0.1:2", other}}})
	expect.Error(t, err, "MTU of 1024")
}

// Extend opens paths while data moves on others.
func TestExtend(t *testing.T) {
	f, _ := memFabric(2, 2)
	eps := f.open(t, 0)
	later := []tcp.Path{{Peer: 1, Spine: 1}}
	expect.Equal(t, eps[0].Opened(later), false, "opened")
	var g errgroup.Group
	g.Go(func() error {
		_, in := messages(eps, 0, 100, 1)
		_, more := messages(eps, 1, 100, 1)
		return errors.Join(eps[1].Exchange(t.Context(), in), eps[1].Exchange(t.Context(), more))
	})
	expect.Must(t, eps[0].Extend(t.Context(), later))
	expect.Equal(t, eps[0].Opened(later), true, "opened")
	for path := range 2 {
		out, _ := messages(eps, path, 100, 1)
		expect.Must(t, eps[0].Exchange(t.Context(), out))
	}
	expect.Must(t, g.Wait())
	expect.Error(t, eps[0].Extend(t.Context(), []tcp.Path{{Peer: 1, Spine: 2}}), "spine2")
}
