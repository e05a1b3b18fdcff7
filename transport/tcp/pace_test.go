package tcp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/testing/expect"
	"evbench/transport"
)

// A script is a Pacer that remembers what it was asked, delays every chunk a
// little, and has no way at all for the first few.
type script struct {
	mu      sync.Mutex
	refuse  int
	bytes   map[[3]int]int // by src, dst, path
	largest int

	unknown int // 1: when a chunk arrives is not known beforehand
	flights int
	asked   map[int]bool
}

func (s *script) Reserve(src, dst, path, bytes int, now time.Time) (time.Time, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		return now.Add(time.Millisecond), 0, false
	}
	if s.bytes == nil {
		s.bytes = map[[3]int]int{}
	}
	s.bytes[[3]int{src, dst, path}] += bytes
	s.largest = max(s.largest, bytes)
	s.flights++
	return now.Add(100 * time.Microsecond), s.flights * s.unknown, true
}

// Landed lets every chunk wait once more.
func (s *script) Landed(flight int, now time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[int]bool{}
	}
	if !s.asked[flight] {
		s.asked[flight] = true
		return now.Add(50 * time.Microsecond), false
	}
	return now, true
}

// Delays change nothing about the promises.
func TestContractPaced(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		for unknown := range 2 {
			t.Run(fmt.Sprint(io, unknown), func(t *testing.T) {
				testContract(t, Options{Pace: &script{refuse: 3, unknown: unknown}}, Group{IO: io})
			})
		}
	}
}

// Every byte is asked for once, on the path that it takes.
func TestPacerIsAskedForEveryByte(t *testing.T) {
	for _, io := range []string{Copy, Sendfile} {
		t.Run(io, func(t *testing.T) { testEveryByte(t, io) })
	}
}

func testEveryByte(t *testing.T, io string) {
	const size = 1<<20 + 5
	s := &script{refuse: 2}
	eps := groupOf(t, 2, Options{Pace: s}, Group{IO: io}, "", transport.Single, 1)
	var g errgroup.Group
	for _, e := range eps {
		g.Go(func() error {
			ops := []transport.Op{
				{Kind: transport.Send, Peer: 1 - e.Rank(), Path: 1, Head: make([]byte, transport.HeadSize), Body: e.Alloc(size)},
				{Kind: transport.Recv, Peer: 1 - e.Rank(), Path: 1, Head: make([]byte, transport.HeadSize), Body: e.Alloc(size)},
			}
			for range 2 {
				if err := e.Exchange(t.Context(), ops); err != nil {
					return err
				}
			}
			return nil
		})
	}
	expect.Must(t, g.Wait())
	for _, k := range [][3]int{{0, 1, 1}, {1, 0, 1}} {
		expect.Equal(t, s.bytes[k], 2*(size+frameSize), "bytes asked for, %v", k)
	}
	expect.True(t, len(s.bytes) == 2 && s.largest == (size+frameSize)/chunksPerMessage, "asked for %v in chunks of up to %d", s.bytes, s.largest)
}

// Messages that fill their room, many in a row, are read with their heads. Those among them
// that do not, and those behind these, are what was sent all the same.
func TestMessagesShorterThanExpected(t *testing.T) {
	const room, messages = 3000, 3000
	eps := groupOf(t, 2, Options{}, Group{}, "", transport.Single)
	r := rand.New(rand.NewPCG(1, 2))
	sends, receives := make([]transport.Op, messages), make([]transport.Op, messages)
	for i := range messages {
		body := make([]byte, room)
		if i%40 > 20 && r.IntN(4) == 0 {
			body = body[:r.IntN(room)*r.IntN(2)]
		}
		for k := range body {
			body[k] = byte(i*7 + k)
		}
		sends[i], receives[i] = op(transport.Send, 1, transport.Single, string(body)), op(transport.Recv, 0, transport.Single, "")
		sends[i].Head[0], sends[i].Head[1] = byte(i>>8), byte(i)
		if i%40 > 20 && r.IntN(4) == 0 {
			receives[i].Drop = room
		} else {
			receives[i].Body = make([]byte, room)
		}
	}
	done := make([]transport.Op, messages)
	for from := 0; from < messages; { // a few at a time: the first of them finds nothing read
		to := min(messages, from+1+r.IntN(4))
		for k, ops := range [][]transport.Op{sends[from:to], receives[from:to]} {
			expect.Must(t, postAndPoll(t.Context(), eps[k], ops, done))
		}
		from = to
	}
	for i := range receives {
		want, got := sends[i], receives[i]
		expect.MustFalse(t, !bytes.Equal(got.Head, want.Head) || got.Drop == 0 && !bytes.Equal(got.Body[:len(want.Body)], want.Body),
			"message %d of %d bytes is not what was sent", i, len(want.Body))
	}
}
