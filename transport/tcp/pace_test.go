//go:build linux

package tcp

import (
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/transport"
	"evbench/transport/transporttest"
)

// A script is a Pacer that remembers what it was asked, delays every chunk a
// little, and has no way at all for the first few.
type script struct {
	mu      sync.Mutex
	refuse  int
	bytes   map[[3]int]int // by src, dst, path
	largest int
}

func (s *script) Reserve(src, dst, path, bytes int, now time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return now.Add(time.Millisecond), false
	}
	if s.bytes == nil {
		s.bytes = map[[3]int]int{}
	}
	s.bytes[[3]int{src, dst, path}] += bytes
	s.largest = max(s.largest, bytes)
	return now.Add(100 * time.Microsecond), true
}

// Delays change nothing about the promises.
func TestContractPaced(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int, paths ...int) []transport.Endpoint {
		var out []transport.Endpoint
		for _, e := range group(t, n, Options{Pace: &script{refuse: 3}}, "", paths...) {
			out = append(out, e)
		}
		return out
	})
}

// Every byte is asked for once, on the path that it takes.
func TestPacerIsAskedForEveryByte(t *testing.T) {
	const size = 1<<20 + 5
	s := &script{refuse: 2}
	eps := group(t, 2, Options{Pace: s}, "", transport.Single, 1)
	var g errgroup.Group
	for _, e := range eps {
		g.Go(func() error {
			ops := []transport.Op{
				{Kind: transport.Send, Peer: 1 - e.Rank(), Path: 1, Head: make([]byte, transport.HeadSize), Body: make([]byte, size)},
				{Kind: transport.Recv, Peer: 1 - e.Rank(), Path: 1, Head: make([]byte, transport.HeadSize), Body: make([]byte, size)},
			}
			for range 2 {
				if err := e.Exchange(t.Context(), ops); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, k := range [][3]int{{0, 1, 1}, {1, 0, 1}} {
		if got := s.bytes[k]; got != 2*(size+frameSize) {
			t.Errorf("%v: asked for %d bytes, want %d", k, got, 2*(size+frameSize))
		}
	}
	if len(s.bytes) != 2 || s.largest != (size+frameSize)/chunksPerMessage {
		t.Errorf("asked for %v in chunks of up to %d", s.bytes, s.largest)
	}
}

// TestPhasesDoNotAllocate counts what two ranks allocate together in phases
// with a barrier, with posted operations in between.
func TestPhasesDoNotAllocate(t *testing.T) {
	eps := group(t, 2, Options{}, "tournament", transport.Single)
	begin, end := make(chan bool), make(chan error)
	for _, e := range eps {
		go func() {
			ops := make([]transport.Op, 2)
			for i, k := range []transport.Kind{transport.Send, transport.Recv} {
				ops[i] = op(k, 1-e.Rank(), transport.Single, "0123456789")
			}
			posted, done := slices.Clone(ops), make([]transport.Op, 2)
			seq := uint64(0)
			for range begin {
				seq++
				end <- phase(t, e, ops, posted, done, seq)
			}
		}()
	}
	defer close(begin)
	got := testing.AllocsPerRun(200, func() {
		for range eps {
			begin <- true
		}
		for range eps {
			if err := <-end; err != nil {
				t.Fatal(err)
			}
		}
	})
	if got >= 1 {
		t.Errorf("%v allocations per phase", got)
	}
}

func phase(t *testing.T, e *Endpoint, ops, posted, done []transport.Op, seq uint64) error {
	ctx := t.Context()
	if err := e.Exchange(ctx, ops); err != nil {
		return err
	}
	if err := e.Post(posted); err != nil {
		return err
	}
	for n := 0; n < len(posted); {
		k, err := e.Poll(ctx, done)
		if err != nil {
			return err
		}
		n += k
	}
	if err := e.Signal(ctx, 1-e.Rank(), seq); err != nil {
		return err
	}
	return e.Await(ctx, 1-e.Rank(), seq)
}
