//go:build mpi

package mpi

// #include "engine.h"
import "C"

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"evbench/transport"
)

// drive starts a chain of operations. It works until the awaited ones are done or, if posted is
// set, until a posted one is done or Wake is called.
func (e *Endpoint) drive(ctx context.Context, first *C.evb_slot, posted bool) error {
	e.hook.Set(ctx, e.ring)
	if posted && e.woken.Load() {
		e.lookUp()
	}
	e.c.since = 0
	which := C.int(0)
	if posted {
		which = 1
	}
	for {
		why := e.work(first, which)
		first = nil
		switch why {
		case C.EVB_DONE:
			return nil
		case C.EVB_FAILED:
			e.err = e.failure()
			return e.err
		case C.EVB_LOOK:
			atomic.StoreInt32(e.look, 0) // cleared before ready checks
			if err := e.ready(ctx); err != nil {
				return err
			}
			if posted && e.woken.Load() {
				return nil
			}
		}
	}
}

// work makes one call of C, holding the token. Every EVB_TURN_MS it serves others and yields to the
// scheduler. Otherwise the runtime's monitor, on seeing a goroutine in C for 10 ms, takes its place
// and then wakes every 20 µs for a while. With more ranks than cores that takes the core from ranks
// that copy: a fifth of the throughput.
func (e *Endpoint) work(first *C.evb_slot, posted C.int) C.int {
	w := e.w
	w.lock()
	w.calls.Add(1)
	why := C.evb_drive(e.c, first, posted)
	turn := w.c.turn != 0
	if turn || why == C.EVB_CONTROL {
		w.c.turn = 0
		w.serve()
	}
	w.unlock()
	if turn {
		runtime.Gosched()
	}
	for e.c.spare != nil {
		i := int(e.c.spare.index)
		e.c.spare = e.c.spare.next
		e.slots.put(i)
	}
	return why
}

// lookUp makes the call under way check ctx, Wake and Close. The flag outlives the memory that
// Close frees.
func (e *Endpoint) lookUp() { atomic.StoreInt32(e.look, 1) }

func (e *Endpoint) failure() error {
	f := e.c.err
	var err error
	switch f.kind {
	case C.EVB_SIZE:
		err = fmt.Errorf("%w: it is longer than the room for it", transport.ErrSize)
	case C.EVB_GONE:
		err = io.ErrClosedPipe
		if f.op == C.EVB_RECV || f.op == C.EVB_AWAIT {
			err = io.ErrUnexpectedEOF
		}
	default:
		err = &callError{Code: int(f.code), Text: text(f.code)}
	}
	if f.peer < 0 {
		return err
	}
	names := [...]string{"send", "receive", "send request", "receive request", "signal", "await"}
	return &transport.PeerError{Peer: int(f.peer), Op: names[f.op], Err: err}
}

// Close unblocks every call, tells the other ranks, and frees the buffers, if necessary once MPI
// has finished with them.
func (e *Endpoint) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	close(e.closing)
	e.lookUp()
	e.run.Lock()
	defer e.run.Unlock()
	e.hook.Clear()
	e.w.lock()
	defer e.w.unlock()
	if e.w.left {
		return nil
	}
	delete(e.w.live, e)
	C.evb_close(e.c)
	e.w.corpses = append(e.w.corpses, &corpse{c: e.c, slots: e.slots.blocks, mem: e.mem.close()})
	e.c = nil
	e.w.reap()
	return nil
}
