//go:build mpi

package mpi

import (
	"bytes"
	"context"
	"net"
	"net/rpc"
	"os"
	"sync"
	"testing"
	"unsafe"

	"evbench/testing/expect"
	"evbench/transport"
)

// serve has a rank do what the fleet's owner says until that hangs up.
func serve(w *World) error {
	conn, err := net.Dial("unix", os.Getenv(envSocket))
	if err != nil {
		return err
	}
	s := rpc.NewServer()
	if err := s.Register(&Servant{w: w, endpoints: map[uint32]*Endpoint{}, contexts: map[uint32]cancellable{}}); err != nil {
		return err
	}
	s.ServeConn(conn)
	return nil
}

// A Servant owns the real endpoints of a rank.
type Servant struct {
	w *World

	mu        sync.Mutex
	endpoints map[uint32]*Endpoint
	contexts  map[uint32]cancellable
}

type cancellable struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// context returns that of a call, whichever is the first to ask: the call, or Cancel.
func (s *Servant) context(call uint32) cancellable {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.contexts[call]
	if !ok {
		c.ctx, c.cancel = context.WithCancel(context.Background())
		s.contexts[call] = c
	}
	return c
}

// Do calls the endpoint of an order.
func (s *Servant) Do(o Order, a *Answer) error {
	c := s.context(o.Call)
	defer c.cancel()
	if o.Dead {
		c.cancel()
	}
	s.mu.Lock()
	e := s.endpoints[o.Group]
	s.mu.Unlock()
	a.What = newFault(s.call(c.ctx, e, o, a))
	return nil
}

func (s *Servant) call(ctx context.Context, e *Endpoint, o Order, a *Answer) error {
	switch o.What {
	case "Exchange":
		ops := s.real(e, o)
		err := e.Exchange(ctx, ops)
		if err == nil {
			a.Ops = back(ops)
		}
		return err
	case "Post":
		return e.Post(s.real(e, o))
	case "Poll":
		done := make([]transport.Op, o.Max)
		n, err := e.Poll(ctx, done)
		a.Ops = back(done[:n])
		return err
	case "Signal":
		return e.Signal(ctx, o.Peer, o.Seq)
	case "Await":
		return e.Await(ctx, o.Peer, o.Seq)
	case "Barrier":
		return e.Barrier(ctx)
	case "Close":
		return e.Close()
	}
	e.Wake()
	return nil
}

// real gives operations bodies that MPI can work with.
func (s *Servant) real(e *Endpoint, o Order) []transport.Op {
	for i := range o.Ops {
		op := &o.Ops[i]
		if o.Room[i] > 0 {
			body := e.Alloc(o.Room[i])
			copy(body, op.Body)
			op.Body = body
		}
	}
	return o.Ops
}

// back returns finished operations as they travel: only what was received.
func back(ops []transport.Op) []transport.Op {
	var out []transport.Op
	for _, op := range ops {
		if op.Kind == transport.Send || op.Kind == transport.SendRequest {
			op.Body = nil
		}
		out = append(out, op)
	}
	return out
}

func (s *Servant) Rank(_ int, rank *int) error {
	*rank = s.w.Rank()
	return nil
}

func (s *Servant) Open(g Group, _ *int) error {
	e, err := s.w.Open(context.Background(), g)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoints[g.ID] = e
	return err
}

func (s *Servant) Cancel(call uint32, _ *int) error {
	s.context(call).cancel()
	return nil
}

func TestBuffersBeginWherePagesDo(t *testing.T) {
	const page, huge = 4096, 2 << 20
	var m memory
	var all [][]byte
	for _, c := range []struct{ size, boundary int }{
		{1, 1}, {page, page}, {huge - 1, page}, {huge, huge}, {huge + 1, huge}, {3*huge + 17, huge},
	} {
		b := m.alloc(c.size)
		at := uintptr(unsafe.Pointer(&b[0]))
		expect.True(t, len(b) == c.size && at%uintptr(c.boundary) == 0,
			"%d bytes: got %d at %#x, want them at a multiple of %d", c.size, len(b), at, c.boundary)
		expect.True(t, bytes.Equal(b, make([]byte, c.size)), "%d bytes: not all are 0", c.size)
		all = append(all, b)
	}
	for i, b := range all { // they do not overlap
		for k := range b {
			b[k] = byte(i + 1)
		}
	}
	for i, b := range all {
		expect.True(t, bytes.Count(b, []byte{byte(i + 1)}) == len(b), "buffer %d lies over another", i)
		expect.True(t, m.has(b), "buffer %d is not known", i)
	}
	(&corpse{mem: m.close()}).free()
}
