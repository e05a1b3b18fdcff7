// Package transporttest holds the promises of transport.Endpoint as tests, for
// every implementation to pass.
package transporttest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/transport"
)

// Connect returns n endpoints, by rank, with the given paths open for every ordered pair of ranks.
// They are closed when the test ends.
type Connect func(t *testing.T, n int, paths ...int) []transport.Endpoint

// Options are the limits of an implementation.
type Options struct {
	// Ranks is the largest number of ranks. 0 means as many as the tests want.
	Ranks int
	// OnePath means that the network chooses paths, and refuses a request for one.
	OnePath bool
}

// Run checks the promises in the comments of package transport.
func Run(t *testing.T, connect Connect) { RunWith(t, Options{}, connect) }

// RunWith is Run for an implementation with limits.
func RunWith(t *testing.T, o Options, connect Connect) {
	paths, side := testPaths, 1
	if o.OnePath {
		paths, side = testOnePath, transport.Single
	}
	if o.Ranks > 0 {
		all := connect
		connect = func(t *testing.T, n int, paths ...int) []transport.Endpoint { return all(t, min(n, o.Ranks), paths...) }
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T, connect Connect)
	}{
		{"order within a stream", testOrder},
		{"large bodies both ways", testLarge},
		{"a request does not wait behind data", testRequestPassesData},
		{"data does not wait behind requests", testDataPassesRequest},
		{"paths are streams of their own", paths},
		{"a shorter body sets N", testShorter},
		{"a longer body is ErrSize", testLonger},
		{"heads without bodies", testEmpty},
		{"bodies that are thrown away", testDrop},
		{"a receive that is near its end", testNear},
		{"bad operations are refused whole", testRefused},
		{"ctx ends a blocked Exchange", testCancelExchange},
		{"ctx ends a blocked Poll", testCancelPoll},
		{"a dead ctx starts nothing", testDeadContext},
		{"Close unblocks", testClose},
		{"Wake", testWake},
		{"a closed peer is named", testClosedPeer},
		{"a closed peer's requests are just missing", testClosedRequester},
		{"many posted operations", testMany},
		{"Exchange beside posted operations", func(t *testing.T, c Connect) { testBeside(t, c, side) }},
		{"all to all", testAllToAll},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, connect) })
	}
}

func testOrder(t *testing.T, connect Connect) {
	const n = 64
	size := func(i int) int { return i * 997 % 3000 }
	ep := connect(t, 2, transport.Single)
	each(t, ep, func(e transport.Endpoint) error {
		for i := range n {
			k := transport.Kind(1 - e.Rank()) // rank 1 sends
			if err := e.Post([]transport.Op{message(e, k, 1-e.Rank(), i, max(size(i), 3000*int(k)))}); err != nil {
				return err
			}
		}
		ops, err := take(t.Context(), e, n)
		for i, op := range ops {
			if op.Kind != transport.Recv {
				continue
			}
			if int(op.ID) != i {
				t.Errorf("receive %d was done as number %d", op.ID, i)
			}
			checkReceived(t, e.Rank(), op, int(op.ID), size(int(op.ID)))
		}
		return err
	})
}

func testLarge(t *testing.T, connect Connect) {
	const size = 8<<20 + 13
	each(t, connect(t, 2, transport.Single), func(e transport.Endpoint) error {
		for i := range 2 {
			ops := []transport.Op{
				message(e, transport.Send, 1-e.Rank(), i, size),
				message(e, transport.Recv, 1-e.Rank(), i, size),
			}
			if err := e.Exchange(t.Context(), ops); err != nil {
				return err
			}
			checkReceived(t, e.Rank(), ops[1], i, size)
			if ops[0].N != size {
				t.Errorf("rank %d sent %d bytes, want %d", e.Rank(), ops[0].N, size)
			}
		}
		return nil
	})
}

// Rank 1 asks rank 0, which sends it data without a receive, so that the way from 0 to 1 is full.
// The request in the other direction, and one between the same ranks in the same direction as the
// data, still arrive.
func testRequestPassesData(t *testing.T, connect Connect) {
	const size = 8 << 20 // more than two sockets hold
	ep := connect(t, 2, transport.Single)
	post(t, ep[0], message(ep[0], transport.Send, 1, 1, size))
	for src := range 2 {
		post(t, ep[src], message(ep[src], transport.SendRequest, 1-src, 7, 0))
		post(t, ep[1-src], message(ep[1-src], transport.RecvRequest, src, 7, 0))
	}
	driveUntil(t, ep, 2)
	post(t, ep[1], message(ep[1], transport.Recv, 0, 1, size))
	driveUntil(t, ep, 1)
}

// A receive is returned before it is done at most once, with its head, and only if it asks for
// that.
func testNear(t *testing.T, connect Connect) {
	const size = 4 << 20
	ep := connect(t, 2, transport.Single)
	for i := range 3 {
		op := message(ep[1], transport.Recv, 0, i, size)
		op.Near = []int{0, size / 2, size}[i]
		post(t, ep[1], op)
		post(t, ep[0], message(ep[0], transport.Send, 1, i, size-1000*i))
	}
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		_, err := take(ctx, ep[0], 4) // there are three
		if ctx.Err() == nil {
			return err
		}
		return nil
	})
	coming, done := map[uint64]bool{}, 0
	for done < 3 {
		op := mustTake(t, ep[1], 1)[0]
		if !op.Coming {
			checkReceived(t, 1, op, done, size-1000*done)
			done++
			continue
		}
		if int(op.ID) != done || done == 0 || coming[op.ID] || !bytes.Equal(op.Head, fill(make([]byte, transport.HeadSize), 0, 1, done)) {
			t.Errorf("receive %d is handed back early, %d are done", op.ID, done)
		}
		coming[op.ID] = true
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// driveUntil drives all endpoints until they have finished receives receives.
func driveUntil(t *testing.T, eps []transport.Endpoint, receives int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan int, receives)
	var g errgroup.Group
	for _, e := range eps {
		g.Go(func() error {
			done := make([]transport.Op, 4)
			for {
				n, err := e.Poll(ctx, done)
				if ctx.Err() != nil {
					return nil
				}
				if err != nil {
					stop()
					return err
				}
				for _, op := range done[:n] {
					if op.Kind == transport.Recv || op.Kind == transport.RecvRequest {
						checkReceived(t, e.Rank(), op, int(op.ID), op.N)
						got <- e.Rank()
					}
				}
			}
		})
	}
	for range receives {
		select {
		case <-got:
		case <-ctx.Done():
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Requests without a receive do not block data.
func testDataPassesRequest(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	for i := range 100 {
		post(t, ep[0], message(ep[0], transport.SendRequest, 1, i, 0))
	}
	mustTake(t, ep[0], 100)
	post(t, ep[0], message(ep[0], transport.Send, 1, 5, 1000))
	post(t, ep[1], message(ep[1], transport.Recv, 0, 5, 1000))
	mustTake(t, ep[0], 1)
	checkReceived(t, 1, mustTake(t, ep[1], 1)[0], 5, 1000)
	for i := range 100 {
		post(t, ep[1], message(ep[1], transport.RecvRequest, 0, i, 0))
	}
	for i, op := range mustTake(t, ep[1], 100) {
		checkReceived(t, 1, op, i, 0)
	}
}

func testPaths(t *testing.T, connect Connect) {
	paths := []int{transport.Single, 0, 3}
	ep := connect(t, 2, paths...)
	for i, p := range paths {
		post(t, ep[0], over(p, message(ep[0], transport.Send, 1, 100+i, 10+i)))
	}
	mustTake(t, ep[0], len(paths))
	for i := len(paths) - 1; i >= 0; i-- { // in the opposite order of the sends
		post(t, ep[1], over(paths[i], message(ep[1], transport.Recv, 0, i, 100)))
		op := mustTake(t, ep[1], 1)[0]
		if op.Path != paths[i] {
			t.Errorf("asked for path %d, got %d", paths[i], op.Path)
		}
		checkReceived(t, 1, op, 100+i, 10+i)
	}
}

// A request for a path is refused, not ignored.
func testOnePath(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	for _, path := range []int{0, 3} {
		ops := []transport.Op{over(path, message(ep[0], transport.Send, 1, 0, 10))}
		if err := ep[0].Post(ops); err == nil {
			t.Errorf("Post took path %d", path)
		}
		if err := ep[0].Exchange(t.Context(), ops); err == nil {
			t.Errorf("Exchange took path %d", path)
		}
	}
}

func testShorter(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	// Two in a row: bytes of the second message must not end up in the first.
	for i := range 2 {
		post(t, ep[0], message(ep[0], transport.Send, 1, i, 1000+i))
	}
	mustTake(t, ep[0], 2)
	for i := range 2 {
		op := message(ep[1], transport.Recv, 0, 0, 5000)
		post(t, ep[1], op)
		got := mustTake(t, ep[1], 1)[0]
		checkReceived(t, 1, got, i, 1000+i)
		if rest := got.Body[got.N:]; !bytes.Equal(rest, make([]byte, len(rest))) {
			t.Error("bytes after the end of the message were written")
		}
	}
}

func testLonger(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	post(t, ep[0], message(ep[0], transport.Send, 1, 0, 1001))
	mustTake(t, ep[0], 1)
	err := ep[1].Exchange(t.Context(), []transport.Op{message(ep[1], transport.Recv, 0, 0, 1000)})
	if !errors.Is(err, transport.ErrSize) {
		t.Errorf("Exchange() = %v, want ErrSize", err)
	}
	if pe, ok := errors.AsType[*transport.PeerError](err); !ok || pe.Peer != 0 {
		t.Errorf("Exchange() = %v, want an error that names rank 0", err)
	}
	if _, err := ep[1].Poll(t.Context(), make([]transport.Op, 1)); !errors.Is(err, transport.ErrSize) {
		t.Errorf("Poll() after it = %v, want ErrSize again", err)
	}
}

func testEmpty(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	for i := range 10 {
		post(t, ep[0], message(ep[0], transport.Send, 1, i, 0))
		post(t, ep[1], message(ep[1], transport.Recv, 0, i, 0))
	}
	mustTake(t, ep[0], 10)
	for i, op := range mustTake(t, ep[1], 10) {
		checkReceived(t, 1, op, i, 0)
	}
}

func testRefused(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	good := message(ep[0], transport.Send, 1, 0, 10)
	for name, spoil := range map[string]func(*transport.Op){
		"peer":         func(o *transport.Op) { o.Peer = 2 },
		"itself":       func(o *transport.Op) { o.Peer = 0 },
		"negative":     func(o *transport.Op) { o.Peer = -1 },
		"kind":         func(o *transport.Op) { o.Kind = 9 },
		"head":         func(o *transport.Op) { o.Head = o.Head[:39] },
		"request body": func(o *transport.Op) { o.Kind = transport.SendRequest },
	} {
		bad := good
		spoil(&bad)
		if ep[0].Post([]transport.Op{good, bad}) == nil {
			t.Errorf("%s: Post took it", name)
		}
		if ep[0].Exchange(t.Context(), []transport.Op{good, bad}) == nil {
			t.Errorf("%s: Exchange took it", name)
		}
	}
	// None of the valid ones was sent: this is the first to arrive.
	post(t, ep[0], message(ep[0], transport.Send, 1, 42, 10))
	post(t, ep[1], message(ep[1], transport.Recv, 0, 42, 10))
	mustTake(t, ep[0], 1)
	checkReceived(t, 1, mustTake(t, ep[1], 1)[0], 42, 10)
}

func testMany(t *testing.T, connect Connect) {
	const each1 = 40
	eps := connect(t, 5, transport.Single)
	n := len(eps)
	each(t, eps, func(e transport.Endpoint) error {
		var ops []transport.Op
		for i := range each1 {
			for p := range n {
				if p != e.Rank() {
					ops = append(ops,
						message(e, transport.Send, p, i, 5000+i),
						message(e, transport.Recv, p, i, 6000),
						message(e, transport.SendRequest, p, i, 0),
						message(e, transport.RecvRequest, p, i, 0))
				}
			}
		}
		if err := e.Post(ops); err != nil {
			return err
		}
		done, err := take(t.Context(), e, len(ops))
		for _, op := range done {
			switch op.Kind {
			case transport.Recv:
				checkReceived(t, e.Rank(), op, int(op.ID), 5000+int(op.ID))
			case transport.RecvRequest:
				checkReceived(t, e.Rank(), op, int(op.ID), 0)
			}
		}
		return err
	})
}

// A posted operation stays posted, and is done, while an Exchange runs.
func testBeside(t *testing.T, connect Connect, side int) {
	each(t, connect(t, 2, transport.Single, side), func(e transport.Endpoint) error {
		p := 1 - e.Rank()
		if err := e.Post([]transport.Op{
			over(side, message(e, transport.Recv, p, 1, 100)), over(side, message(e, transport.Send, p, 1, 100)),
		}); err != nil {
			return err
		}
		ops := []transport.Op{
			message(e, transport.Send, p, 2, 1<<20), message(e, transport.Recv, p, 2, 1<<20),
		}
		if err := e.Exchange(t.Context(), ops); err != nil {
			return err
		}
		checkReceived(t, e.Rank(), ops[1], 2, 1<<20)
		posted, err := take(t.Context(), e, 2)
		for _, op := range posted {
			if op.Kind == transport.Recv {
				checkReceived(t, e.Rank(), op, 1, 100)
			}
		}
		return err
	})
}

func testAllToAll(t *testing.T, connect Connect) {
	for _, most := range []int{1, 2, 5, 9} {
		eps := connect(t, most, transport.Single)
		n := len(eps)
		each(t, eps, func(e transport.Endpoint) error {
			for i := range 3 * n { // three exchanges of a linear shift
				to, from := (e.Rank()+i)%n, (e.Rank()+i*(n-1))%n
				if to == e.Rank() {
					continue
				}
				ops := []transport.Op{
					message(e, transport.Recv, from, i, 40000),
					message(e, transport.Send, to, i, 30000+i),
				}
				if err := e.Exchange(t.Context(), ops); err != nil {
					return err
				}
				checkReceived(t, e.Rank(), ops[0], i, 30000+i)
			}
			return nil
		})
	}
}
