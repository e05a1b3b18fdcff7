package worker

import (
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/internal/expect"
)

// Fragments of one source that are awaited at once take their time once; what is
// awaited in the end has taken none since the last that came.
func TestSources(t *testing.T) {
	s := newSources(wire.Configure{Case: wire.Case{Pairs: true, Peers: make([]wire.Peer, 3)}})
	s.await(2, 5)
	s.start(100)
	s.came(2, 110) // of before, but it took counted time
	s.await(1, 120)
	s.await(1, 130)
	s.got(1, 1000)
	s.came(1, 150)
	s.came(1, 170)
	s.await(1, 300)
	s.got(1, 500)
	s.came(1, 301)
	s.await(1, 400)
	want := []wire.Source{{}, {Bytes: 1500, Took: 51}, {Took: 10}}
	expect.Equal(t, s.report(), want, "sources")
}

// Nobody asked: nothing is kept, and nothing sent.
func TestNoSources(t *testing.T) {
	s := newSources(wire.Configure{Case: wire.Case{Peers: make([]wire.Peer, 3)}})
	s.start(time.Second)
	s.await(1, 0)
	s.got(1, 10)
	s.came(1, 0)
	if got := s.report(); s != nil || got != nil {
		t.Errorf("%v kept, %v reported", s, got)
	}
}
