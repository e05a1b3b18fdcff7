package tcp

import (
	"testing"

	"evbench/internal/expect"
	"evbench/transport"
)

// In steady state nothing is allocated, in phases with a barrier as little as by
// posted operations, whatever becomes of the payload.
func TestHotPathAllocatesNothing(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		for name, work := range map[string]func(t *testing.T, e *Endpoint) func() error{
			"phases": phased, "posted": posted, "posted, dropped": dropped,
		} {
			t.Run(io+"/"+name, func(t *testing.T) {
				got := allocations(t, groupOf(t, 2, Options{}, Group{IO: io}, "tournament", transport.Single), work)
				expect.True(t, got == 0, "%v allocations per exchange of two ranks", got)
			})
		}
	}
}

// allocations counts what all ranks together allocate in one step of their work.
func allocations(t *testing.T, eps []*Endpoint, work func(t *testing.T, e *Endpoint) func() error) float64 {
	begin, end := make(chan bool), make(chan error)
	for _, e := range eps {
		go func() {
			step := work(t, e)
			for range begin {
				end <- step()
			}
		}()
	}
	defer close(begin)
	all := func() {
		for range eps {
			begin <- true
		}
		for range eps {
			expect.Must(t, <-end)
		}
	}
	for range 10 {
		all()
	}
	return testing.AllocsPerRun(200, all)
}

// both returns a send to the other rank and a receive from it.
func both(e *Endpoint, size int) []transport.Op {
	ops := make([]transport.Op, 2)
	for i, k := range []transport.Kind{transport.Send, transport.Recv} {
		ops[i] = op(k, 1-e.Rank(), transport.Single, "")
		ops[i].Body = e.Alloc(size)
	}
	return ops
}

const allocSize = 100_000 // more than a page, and than goes out in one piece

func phased(t *testing.T, e *Endpoint) func() error {
	ctx, ops, seq := t.Context(), both(e, allocSize), uint64(0)
	return func() error {
		if err := e.Exchange(ctx, ops); err != nil {
			return err
		}
		seq++
		if err := e.Signal(ctx, 1-e.Rank(), seq); err != nil {
			return err
		}
		return e.Await(ctx, 1-e.Rank(), seq)
	}
}

func posted(t *testing.T, e *Endpoint) func() error {
	ops := both(e, allocSize)
	for _, k := range []transport.Kind{transport.SendRequest, transport.RecvRequest} {
		ops = append(ops, op(k, 1-e.Rank(), transport.Single, ""))
	}
	return postAll(t, e, ops)
}

func dropped(t *testing.T, e *Endpoint) func() error {
	ops := both(e, allocSize)
	ops[1].Body, ops[1].Drop = nil, allocSize
	return postAll(t, e, ops)
}

func postAll(t *testing.T, e *Endpoint, ops []transport.Op) func() error {
	ctx, done := t.Context(), make([]transport.Op, len(ops))
	return func() error { return postAndPoll(ctx, e, ops, done) }
}
