//go:build mpi

package mpi

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"evbench/testing/expect"
	"evbench/transport"
)

// A fleet is the ranks of one mpirun, which do what this process says: the
// endpoints of the contract's tests are stand-ins for theirs.
type fleet struct {
	ranks []*rpc.Client
	last  atomic.Uint32 // group
}

// newFleet starts n ranks with more environment and ends them with the test.
func newFleet(t *testing.T, n int, env []string) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "mpi") // the test's own may be too long for a socket
	expect.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l := expect.Value(net.Listen("unix", path))(t)
	cmd := mpirun(t, n, "serve", append(env, envSocket+"="+path)...)
	cmd.Stderr = os.Stderr
	expect.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = l.Close() // nobody will dial any more
	}()
	f := &fleet{ranks: make([]*rpc.Client, n)}
	t.Cleanup(func() {
		for _, c := range f.ranks {
			if c != nil {
				_ = c.Close()
			}
		}
		expect.OK(t, <-ended, "mpirun")
	})
	for range n {
		conn := expect.Value(l.Accept())(t)
		c, rank := rpc.NewClient(conn), 0
		expect.Must(t, c.Call("Servant.Rank", 0, &rank))
		f.ranks[rank] = c
	}
	return f
}

// open returns the endpoints of a group of n ranks, which are the last of the world, the other way round.
func (f *fleet) open(t *testing.T, n int) []*standIn {
	t.Helper()
	g := Group{ID: f.last.Add(1)}
	for r := range n {
		g.Ranks = append(g.Ranks, len(f.ranks)-1-r)
	}
	var out []*standIn
	for r := range n {
		g.Rank = r
		c := f.ranks[g.Ranks[r]]
		expect.Must(t, c.Call("Servant.Open", g, new(int)))
		s := &standIn{c: c, group: g.ID, rank: r, pending: map[uint64]transport.Op{}}
		t.Cleanup(func() { _ = s.Close() })
		out = append(out, s)
	}
	return out
}

// A standIn is an endpoint whose real one is in another process.
type standIn struct {
	c     *rpc.Client
	group uint32
	rank  int

	mu      sync.Mutex
	last    uint64
	pending map[uint64]transport.Op // posted
}

// An Order is what a real endpoint shall do.
type Order struct {
	What        string // the method
	Group, Call uint32
	Dead        bool // its context is
	Ops         []transport.Op
	Room        []int // of each operation's body
	Max         int
	Peer        int
	Seq         uint64
}

// An Answer is what became of it.
type Answer struct {
	Ops  []transport.Op
	What fault
}

var calls atomic.Uint32

// do has an order done, unless ctx ends it.
func (s *standIn) do(ctx context.Context, what string, o Order) ([]transport.Op, error) {
	o.What, o.Group, o.Call, o.Dead = what, s.group, calls.Add(1), ctx.Err() != nil
	var a Answer
	call := s.c.Go("Servant.Do", o, &a, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		if err := s.c.Call("Servant.Cancel", o.Call, new(int)); err != nil {
			return nil, err
		}
		<-call.Done
	}
	if call.Error != nil {
		return nil, call.Error
	}
	return a.Ops, a.What.error()
}

// outgoing copies operations for an order: bodies of receives need not travel.
func (s *standIn) outgoing(ops []transport.Op) Order {
	var o Order
	for _, op := range ops {
		o.Room = append(o.Room, len(op.Body))
		if op.Kind == transport.Recv {
			op.Body = nil
		}
		s.last++
		op.ID = s.last
		o.Ops = append(o.Ops, op)
	}
	return o
}

func (s *standIn) Exchange(ctx context.Context, ops []transport.Op) error {
	done, err := s.do(ctx, "Exchange", s.outgoing(ops))
	for i, d := range done {
		ops[i].N = d.N
		copy(ops[i].Head, d.Head)
		copy(ops[i].Body, d.Body)
	}
	return err
}

func (s *standIn) Post(ops []transport.Op) error {
	o := s.outgoing(ops)
	_, err := s.do(context.Background(), "Post", o)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, op := range ops {
			s.pending[o.Ops[i].ID] = op
		}
	}
	return err
}

func (s *standIn) Poll(ctx context.Context, done []transport.Op) (int, error) {
	ops, err := s.do(ctx, "Poll", Order{Max: len(done)})
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range ops {
		op := s.pending[d.ID]
		delete(s.pending, d.ID)
		op.N = d.N
		copy(op.Head, d.Head)
		copy(op.Body, d.Body)
		done[i] = op
	}
	return len(ops), err
}

func (s *standIn) simply(what string, o Order) error {
	_, err := s.do(context.Background(), what, o)
	return err
}

func (s *standIn) Wake()                        { _ = s.simply("Wake", Order{}) }
func (s *standIn) Close() error                 { return s.simply("Close", Order{}) }
func (s *standIn) Alloc(n int) []byte           { return make([]byte, n) }
func (s *standIn) Rank() int                    { return s.rank }
func (s *standIn) Retransmits() uint64          { return 0 }
func (s *standIn) Moved(int) transport.Movement { return transport.Movement{} }

func (s *standIn) Signal(ctx context.Context, to int, seq uint64) error {
	_, err := s.do(ctx, "Signal", Order{Peer: to, Seq: seq})
	return err
}

func (s *standIn) Await(ctx context.Context, from int, seq uint64) error {
	_, err := s.do(ctx, "Await", Order{Peer: from, Seq: seq})
	return err
}

func (s *standIn) Barrier(ctx context.Context) error {
	_, err := s.do(ctx, "Barrier", Order{})
	return err
}

// A fault is an error on its way between processes.
type fault struct {
	Text   string
	Is     []int // of sentinels
	Peer   int   // or -1
	PeerOp string
}

var sentinels = []error{transport.ErrClosed, transport.ErrSize, context.Canceled}

func newFault(err error) fault {
	f := fault{Peer: -1}
	if err == nil {
		return f
	}
	f.Text = err.Error()
	for i, s := range sentinels {
		if errors.Is(err, s) {
			f.Is = append(f.Is, i)
		}
	}
	if pe, ok := errors.AsType[*transport.PeerError](err); ok {
		f.Peer, f.PeerOp = pe.Peer, pe.Op
	}
	return f
}

func (f fault) error() error {
	if f.Text == "" {
		return nil
	}
	all := []error{errors.New(f.Text)}
	for _, i := range f.Is {
		all = append(all, sentinels[i])
	}
	if f.Peer >= 0 {
		return &transport.PeerError{Peer: f.Peer, Op: f.PeerOp, Err: errors.Join(all...)}
	}
	return errors.Join(all...)
}
