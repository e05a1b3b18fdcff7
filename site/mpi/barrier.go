//go:build mpi

package mpi

// #include "engine.h"
import "C"

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"evbench/transport"
)

// Signal implements barrier.Peer.
func (e *Endpoint) Signal(ctx context.Context, to int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	s, err := e.word(ctx, C.EVB_SIGNAL, to)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(head(s), seq)
	return e.start(s)
}

// Await implements barrier.Peer. If ctx ends during Await, the endpoint ends too.
func (e *Endpoint) Await(ctx context.Context, from int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	s, err := e.word(ctx, C.EVB_AWAIT, from)
	if err != nil {
		return err
	}
	s.waited = 1
	if err := e.together(ctx, s, "a barrier"); err != nil {
		return err
	}
	got := binary.LittleEndian.Uint64(head(s))
	e.slots.put(int(s.index))
	if got != seq {
		e.err = &transport.PeerError{Peer: from, Op: "await", Err: fmt.Errorf("it is at barrier %d, this rank at %d", got, seq)}
	}
	return e.err
}

func (e *Endpoint) word(ctx context.Context, kind, peer int) (*C.evb_slot, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	if n := len(e.group.Ranks); peer < 0 || peer >= n || peer == e.group.Rank {
		return nil, fmt.Errorf("rank %d is not a partner in a barrier of %d ranks", peer, n)
	}
	s := e.slots.at[e.slots.get()]
	s.peer, s.kind, s.waited, s.next, s.body, s.size = C.int(peer), C.int(kind), 0, nil, nil, 0
	return s, nil
}

// A comm is the communicator of some ranks, for MPI_Barrier. The next case of the same ranks uses
// it again, if all ranks have used it equally.
type comm struct {
	c     C.MPI_Comm
	count uint64 // barriers completed on it
	cut   bool   // a barrier was interrupted
}

// fresh asks for a new communicator.
const fresh = math.MaxUint64

func (c *comm) state() uint64 {
	if c == nil || c.cut {
		return fresh
	}
	return c.count
}

// A join is an agreement on a communicator under way. It continues after its callers have given up:
// the other ranks may already make the communicator, and wait for this rank.
type join struct {
	c    *C.evb_join
	key  string
	done chan struct{}
	comm *comm
	err  error
}

// Barrier returns once all ranks of the case have called it equally often. It uses MPI_Ibarrier,
// which ctx or Close can interrupt where MPI_Barrier would block forever; an interruption ends the
// endpoint. The first call makes the communicator.
func (e *Endpoint) Barrier(ctx context.Context) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.ready(ctx); err != nil {
		return err
	}
	if len(e.group.Ranks) == 1 {
		return nil
	}
	if e.comm == nil {
		if err := e.meet(ctx); err != nil {
			e.err = fmt.Errorf("a barrier was cut short: %w", err)
			return err
		}
	}
	e.c.enter = e.comm.c
	e.comm.cut = true
	if err := e.together(ctx, nil, "a barrier"); err != nil {
		return err
	}
	e.comm.cut = false
	e.comm.count++
	return nil
}

func (e *Endpoint) meet(ctx context.Context) error {
	j, err := e.w.beginJoin(&e.group)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pumpIdle)
	defer tick.Stop()
	for {
		select {
		case <-j.done:
			e.comm = j.comm
			return j.err
		case <-ctx.Done():
			return ctx.Err()
		case <-e.closing:
			return transport.ErrClosed
		case <-tick.C:
			if err := e.glance(); err != nil {
				return err
			}
			e.w.attend()
		}
	}
}

// glance checks whether a rank awaited in a barrier has closed.
func (e *Endpoint) glance() error {
	e.c.missing++
	e.c.entered++
	e.c.inside = 1
	e.lookUp()
	why := e.work(nil, 0)
	e.c.missing--
	e.c.entered--
	e.c.inside = 0
	if why == C.EVB_FAILED {
		return e.failure()
	}
	return nil
}

func (w *World) beginJoin(g *Group) (*join, error) {
	ranks := make([]C.int, len(g.Ranks))
	for i, r := range g.Ranks {
		ranks[i] = C.int(r)
	}
	j := &join{key: fmt.Sprint(g.Ranks), done: make(chan struct{})}
	w.lock()
	defer w.unlock()
	if w.left {
		return nil, errLeft
	}
	state := C.uint64_t(w.comms[j.key].state())
	if j.c = C.evb_join_open(w.c, C.uint32_t(g.ID), C.int(g.Rank), C.int(len(ranks)), &ranks[0], state); j.c == nil {
		return nil, fmt.Errorf("mpi: the ranks of the case cannot be told of its barrier")
	}
	w.joins = append(w.joins, j)
	return j, nil
}

// join advances all agreements. The caller holds the token.
func (w *World) join() {
	left := w.joins[:0]
	for _, j := range w.joins {
		if !w.step(j) {
			left = append(left, j)
		}
	}
	clear(w.joins[len(left):])
	w.joins = left
}

func (w *World) step(j *join) (over bool) {
	var done C.int
	var c C.MPI_Comm
	rc := C.evb_join_step(j.c, &done, &c)
	switch {
	case rc != C.MPI_SUCCESS:
		j.err = &callError{Code: int(rc), Text: text(rc)}
	case done == 0:
		return false
	case done == C.EVB_NEW:
		w.comms[j.key] = &comm{c: c}
	}
	j.comm = w.comms[j.key]
	C.evb_join_close(j.c)
	close(j.done)
	return true
}
