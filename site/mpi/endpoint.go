//go:build mpi

package mpi

// #include "engine.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"evbench/transport"
)

// An Endpoint is one rank's place in a case; it is a transport.Endpoint and a
// barrier.Peer.
type Endpoint struct {
	w     *World
	group Group
	c     *C.evb_ep
	look  *int32 // in C memory: nonzero makes the C loop return
	ring  func() // lookUp, made once

	closed  atomic.Bool
	closing chan struct{}
	woken   atomic.Bool

	run   sync.Mutex // held by every call that uses the following fields
	slots slots
	mine  []int // slots of the Exchange under way
	hook  transport.Hook
	comm  *comm // for Barrier
	err   error // why the endpoint has ended

	mem memory
}

// Open returns the endpoint of a case. It does not wait for other ranks.
func (w *World) Open(ctx context.Context, g Group) (*Endpoint, error) {
	if err := g.validate(w.size, w.rank); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ranks := make([]C.int, len(g.Ranks))
	for i, r := range g.Ranks {
		ranks[i] = C.int(r)
	}
	w.lock()
	defer w.unlock()
	if w.left {
		return nil, errLeft
	}
	look := C.evb_alloc(C.sizeof_int32_t)
	e := &Endpoint{w: w, group: g, look: (*int32)(look), closing: make(chan struct{})}
	e.ring = e.lookUp
	e.c = C.evb_open(w.c, C.uint32_t(g.ID), C.int(g.Rank), C.int(len(ranks)), &ranks[0], (*C.int32_t)(look))
	if e.c == nil {
		return nil, errors.New("mpi: out of memory")
	}
	w.live[e] = true
	runtime.AddCleanup(e, func(p unsafe.Pointer) { C.evb_free(p) }, look)
	return e, nil
}

func (g *Group) validate(size, rank int) error {
	if g.Rank < 0 || g.Rank >= len(g.Ranks) {
		return fmt.Errorf("mpi: rank %d among %d", g.Rank, len(g.Ranks))
	}
	seen := map[int]bool{}
	for i, r := range g.Ranks {
		if r < 0 || r >= size || seen[r] {
			return fmt.Errorf("mpi: rank %d of the case is rank %d of the world, which has %d, each once", i, r, size)
		}
		seen[r] = true
	}
	if g.Ranks[g.Rank] != rank {
		return fmt.Errorf("mpi: rank %d of the case is rank %d of the world, but this process is %d", g.Rank, g.Ranks[g.Rank], rank)
	}
	return nil
}

func (e *Endpoint) Rank() int { return e.group.Rank }

// Retransmits is 0: MPI does not report them.
func (e *Endpoint) Retransmits() uint64 { return 0 }

// Moved is 0: MPI reports whole messages.
func (e *Endpoint) Moved(int) transport.Movement { return transport.Movement{} }

// Alloc returns n bytes of C memory, which Close frees.
func (e *Endpoint) Alloc(n int) []byte { return e.mem.alloc(n) }

func (e *Endpoint) usable() error {
	if e.closed.Load() {
		return transport.ErrClosed
	}
	return e.err
}

// check refuses operations that cannot be posted.
func (e *Endpoint) check(ops []transport.Op) error {
	for i := range ops {
		o := &ops[i]
		if err := o.Check(e.group.Rank, len(e.group.Ranks)); err != nil {
			return err
		}
		if o.Path != transport.Single {
			return fmt.Errorf("%v: rank %d: MPI chooses paths itself; spine %d cannot be asked for", o.Kind, o.Peer, o.Path)
		}
		if len(o.Body) > 0 && !e.mem.has(o.Body) {
			return fmt.Errorf("%v: rank %d: the body is not from this endpoint's Alloc", o.Kind, o.Peer)
		}
	}
	return nil
}

// chain prepares slots for operations and links them, in order.
func (e *Endpoint) chain(ops []transport.Op, waited bool) *C.evb_slot {
	var first, last *C.evb_slot
	for i := range ops {
		s := e.slot(&ops[i])
		if waited {
			s.waited = 1
			e.mine = append(e.mine, int(s.index))
		}
		if first == nil {
			first = s
		} else {
			last.next = s
		}
		last = s
	}
	return first
}

func (e *Endpoint) slot(o *transport.Op) *C.evb_slot {
	i := e.slots.get()
	s := e.slots.at[i]
	e.slots.ops[i] = *o
	s.peer, s.kind, s.waited, s.next = C.int(o.Peer), C.int(o.Kind), 0, nil
	s.body, s.size = nil, C.int(len(o.Body))
	switch {
	case len(o.Body) > 0:
		s.body = unsafe.Pointer(unsafe.SliceData(o.Body))
	case o.Drop > 0:
		s.body, s.size = e.mem.bin(o.Drop), C.int(o.Drop)
	}
	if o.Kind == transport.Send || o.Kind == transport.SendRequest {
		copy(head(s), o.Head)
	}
	return s
}

func head(s *C.evb_slot) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s.head[0])), transport.HeadSize)
}

func (e *Endpoint) settle(i int, o *transport.Op) {
	s := e.slots.at[i]
	o.N = int(s.n)
	if o.Kind == transport.Recv || o.Kind == transport.RecvRequest {
		copy(o.Head, head(s))
	}
	e.slots.put(i)
}

// Exchange does one phase, in one call into C unless it is interrupted there.
func (e *Endpoint) Exchange(ctx context.Context, ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.ready(ctx); err != nil {
		return err
	}
	for i := range ops {
		if k := ops[i].Kind; k != transport.Send && k != transport.Recv {
			return fmt.Errorf("%v is not for an exchange", k)
		}
	}
	if err := e.check(ops); err != nil {
		return err
	}
	e.mine = e.mine[:0]
	if err := e.together(ctx, e.chain(ops, true), "an exchange"); err != nil {
		return err
	}
	for i, at := range e.mine {
		e.settle(at, &ops[i])
	}
	return nil
}

func (e *Endpoint) ready(ctx context.Context) error {
	if err := e.usable(); err != nil {
		return err
	}
	return ctx.Err()
}

// together drives operations whose interruption ends the endpoint.
func (e *Endpoint) together(ctx context.Context, first *C.evb_slot, what string) error {
	err := e.drive(ctx, first, false)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s was cut short: %w", what, err)
	}
	return err
}

func (e *Endpoint) Post(ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	if err := e.check(ops); err != nil || len(ops) == 0 {
		return err
	}
	return e.start(e.chain(ops, false))
}

func (e *Endpoint) start(first *C.evb_slot) error {
	e.w.lock()
	defer e.w.unlock()
	if C.evb_post(e.c, first) != 0 {
		e.err = e.failure()
	}
	return e.err
}

func (e *Endpoint) Poll(ctx context.Context, done []transport.Op) (int, error) {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.ready(ctx); err != nil {
		return 0, err
	}
	if err := e.drive(ctx, nil, true); err != nil {
		return 0, err
	}
	e.woken.Store(false)
	n := 0
	for ; n < len(done) && e.c.done != nil; n++ {
		i := int(e.c.done.index)
		e.c.done = e.c.done.next
		done[n] = e.slots.ops[i]
		e.settle(i, &done[n])
	}
	return n, nil
}

func (e *Endpoint) Wake() {
	e.woken.Store(true)
	e.lookUp()
}
