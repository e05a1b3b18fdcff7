package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"evbench/transport"
)

const (
	Unsync = "unsync" // all of an exchange is posted at once; the next begins after it
	Phases = "phases" // a linear shift, with a barrier after each phase
)

// Work is the work to do: event building without events, requests and a controller. In one exchange
// every rank sends Size bytes to every other rank and receives as many from each, in the same order
// and with as many exchanges in flight as the C program. Exchanges and Warmup are multiples of
// Batch.
type Work struct {
	Mode      string
	Size      int
	Exchanges int // timed
	Warmup    int // before the clock starts
	// Batch is how many exchanges are posted at once in mode Unsync. 0 means 1.
	Batch int
	// Drop makes the receiver discard fragments instead of keeping each in a buffer of its own.
	Drop bool
	// Shared works like a worker: it sends the same memory to all, and copies it to the place of
	// the rank's own fragment. Otherwise each destination has a fragment of its own, and the rank
	// itself has none.
	Shared bool
	// Check verifies every received byte.
	Check bool
}

func (w *Work) validate(n int) error {
	w.Batch = max(w.Batch, 1)
	switch {
	case w.Mode != Unsync && w.Mode != Phases:
		return fmt.Errorf("mode %q: there are %s, %s", w.Mode, Unsync, Phases)
	case n < 2:
		return fmt.Errorf("%d ranks: an all-to-all takes two", n)
	case w.Size < 0 || w.Size > transport.MaxBody:
		return fmt.Errorf("size %d: must be 0 to %d", w.Size, transport.MaxBody)
	case w.Exchanges < 1 || w.Warmup < 0:
		return fmt.Errorf("%d exchanges after %d: must be 1 or more after 0 or more", w.Exchanges, w.Warmup)
	case w.Batch > 1 && w.Mode != Unsync:
		return fmt.Errorf("batch %d: phases are done one at a time", w.Batch)
	case w.Exchanges%w.Batch != 0 || w.Warmup%w.Batch != 0:
		return fmt.Errorf("%d exchanges after %d: must be multiples of the batch, %d", w.Exchanges, w.Warmup, w.Batch)
	}
	return nil
}

type Gate func(ctx context.Context) error

// Run does the work of one of n ranks and returns the time of the timed exchanges. All ranks pass
// the gate just before the clock starts.
func Run(ctx context.Context, ep transport.Endpoint, n int, gate Gate, w Work) (time.Duration, error) {
	if err := w.validate(n); err != nil {
		return 0, err
	}
	r := newRank(ep, n, gate, w)
	step := r.unsync
	if w.Mode == Phases {
		// Like a worker, so that the sleeping thread is the one that is woken.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		step = r.phases
	}
	if err := r.repeat(ctx, w.Warmup, step); err != nil {
		return 0, fmt.Errorf("warm-up: %w", err)
	}
	if err := gate(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	err := r.repeat(ctx, w.Exchanges, step)
	return time.Since(began), err
}

type rank struct {
	ep      transport.Endpoint
	n, rank int
	gate    Gate
	w       Work

	out  []byte         // sent data
	own  [][]byte       // Shared: places of the rank's own fragments, by slot
	ops  []transport.Op // of a batch: all receives, then all sends, each by slot and distance
	done []transport.Op // filled by Poll
}

func newRank(ep transport.Endpoint, n int, gate Gate, w Work) *rank {
	r := &rank{ep: ep, n: n, rank: ep.Rank(), gate: gate, w: w}
	in, out := r.memory()
	r.out = out
	for s := range w.Batch {
		if w.Shared && !w.Drop {
			r.own = append(r.own, r.place(in, s, r.rank))
		}
		for d := 1; d < n; d++ {
			from := (r.rank + n - d) % n
			op := transport.Op{Kind: transport.Recv, Peer: from, Path: transport.Single, Head: make([]byte, transport.HeadSize)}
			if w.Drop {
				op.Drop = w.Size
			} else {
				op.Body = r.place(in, s, from)
			}
			r.ops = append(r.ops, op)
		}
	}
	for s := range w.Batch {
		for d := 1; d < n; d++ {
			to := (r.rank + d) % n
			op := transport.Op{
				Kind: transport.Send, Peer: to, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: r.place(out, s, to),
			}
			if w.Shared {
				op.Body = out
			}
			binary.LittleEndian.PutUint32(op.Head, uint32(r.rank))
			binary.LittleEndian.PutUint32(op.Head[4:], uint32(to))
			fill(op.Body, r.rank, r.dest(to))
			r.ops = append(r.ops, op)
		}
	}
	r.done = make([]transport.Op, len(r.ops))
	return r
}

// memory returns the buffers for receives and sends. All pages have been touched, so that no page
// fault occurs while the clock runs.
func (r *rank) memory() (in, out []byte) {
	all := r.w.Batch * r.n * r.w.Size
	out = r.ep.Alloc(all)
	if r.w.Shared {
		out = out[:r.w.Size]
	}
	clear(out)
	if !r.w.Drop {
		in = r.ep.Alloc(all)
		clear(in)
	}
	return in, out
}

func (r *rank) place(block []byte, slot, peer int) []byte {
	if len(block) < r.w.Batch*r.n*r.w.Size {
		return nil // shared: only one fragment
	}
	from := (slot*r.n + peer) * r.w.Size
	return block[from : from+r.w.Size : from+r.w.Size]
}

// dest is the destination encoded in the bytes of a fragment.
func (r *rank) dest(to int) int {
	if r.w.Shared {
		return r.n // the same for all
	}
	return to
}

// The same patterns as in the C program.
func pattern(src, dst, i int) byte {
	x := uint32(src)*2654435761 ^ uint32(dst)*40503 ^ uint32(i)*2246822519
	return byte(x >> 24)
}

func fill(body []byte, src, dst int) {
	for i := range body {
		body[i] = pattern(src, dst, i)
	}
}

func (r *rank) repeat(ctx context.Context, exchanges int, step func(context.Context) error) error {
	for i := 0; i < exchanges; i += r.w.Batch {
		if err := step(ctx); err != nil {
			return fmt.Errorf("exchange %d: %w", i, err)
		}
		if r.w.Check {
			if err := r.verify(); err != nil {
				return fmt.Errorf("exchange %d: %w", i, err)
			}
		}
	}
	return nil
}

// keep copies the rank's own fragments to the place of received ones.
func (r *rank) keep() {
	for _, place := range r.own {
		copy(place, r.out)
	}
}

func (r *rank) unsync(ctx context.Context) error {
	r.keep()
	if err := r.ep.Post(r.ops); err != nil {
		return err
	}
	for left := len(r.ops); left > 0; {
		n, err := r.ep.Poll(ctx, r.done)
		if err != nil {
			return err
		}
		for i := range r.done[:n] {
			if err := r.whole(&r.done[i]); err != nil {
				return err
			}
		}
		left -= n
	}
	return nil
}

func (r *rank) phases(ctx context.Context) error {
	r.keep()
	var ops [2]transport.Op
	for d := range r.n - 1 {
		ops[0], ops[1] = r.ops[d], r.ops[r.n-1+d]
		if err := r.ep.Exchange(ctx, ops[:]); err != nil {
			return err
		}
		if err := errors.Join(r.whole(&ops[0]), r.whole(&ops[1])); err != nil {
			return err
		}
		if err := r.gate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) whole(op *transport.Op) error {
	if op.N != r.w.Size {
		return fmt.Errorf("%v: rank %d: %d bytes of %d", op.Kind, op.Peer, op.N, r.w.Size)
	}
	return nil
}

// verify checks the received data and erases them, so that later data must arrive too.
func (r *rank) verify() error {
	for i := range r.ops {
		op := &r.ops[i]
		if op.Kind != transport.Recv {
			continue
		}
		src, dst := binary.LittleEndian.Uint32(op.Head), binary.LittleEndian.Uint32(op.Head[4:])
		if int(src) != op.Peer || int(dst) != r.rank {
			return fmt.Errorf("from rank %d came what rank %d sent to %d", op.Peer, src, dst)
		}
		if err := r.sound(op.Body, op.Peer); err != nil {
			return err
		}
		clear(op.Head)
	}
	for _, own := range r.own {
		if err := r.sound(own, r.rank); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) sound(body []byte, from int) error {
	for k, b := range body {
		if b != pattern(from, r.dest(r.rank), k) {
			return fmt.Errorf("byte %d from rank %d differs from what was sent", k, from)
		}
	}
	clear(body)
	return nil
}

// Barriers passes the gate rounds+1 times after a warm-up and returns the times of leaving each, on
// the clock now, which all ranks share.
func Barriers(ctx context.Context, gate Gate, rounds, warmup int, now func() time.Duration) ([]time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range warmup {
		if err := gate(ctx); err != nil {
			return nil, err
		}
	}
	exits := make([]time.Duration, rounds+1)
	for i := range exits {
		if err := gate(ctx); err != nil {
			return nil, err
		}
		exits[i] = now()
	}
	return exits, nil
}
