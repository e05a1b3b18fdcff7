package transporttest

import (
	"context"
	"errors"
	"testing"

	"evbench/transport"
)

// blocked returns operations of rank 0 towards rank 1, one that can be done and one that cannot,
// and a function that returns, at rank 1, when the first has been done.
func blocked(t *testing.T, ep []transport.Endpoint) (ops []transport.Op, begun func()) {
	post(t, ep[1], message(ep[1], transport.Recv, 0, 0, 100))
	ops = []transport.Op{
		message(ep[0], transport.Send, 1, 0, 100),
		message(ep[0], transport.Recv, 1, 0, 100),
	}
	return ops, func() {
		if _, err := take(t.Context(), ep[1], 1); err != nil {
			t.Errorf("rank 1: Poll: %v", err)
		}
	}
}

func testCancelExchange(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	ops, begun := blocked(t, ep)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- ep[0].Exchange(ctx, ops) }()
	begun()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("Exchange() = %v, want context.Canceled", err)
	}
	if err := ep[0].Exchange(t.Context(), nil); err == nil {
		t.Error("an Exchange after one that was cut short gave no error")
	}
}

func testCancelPoll(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	ops, begun := blocked(t, ep)
	post(t, ep[0], ops...)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := take(ctx, ep[0], 2)
		result <- err
	}()
	begun()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("Poll() = %v, want context.Canceled", err)
	}
	// Posted operations are still there.
	post(t, ep[1], message(ep[1], transport.Send, 0, 3, 50))
	mustTake(t, ep[1], 1)
	for _, op := range mustTakeSome(t, ep[0]) {
		if op.Kind == transport.Recv {
			checkReceived(t, 0, op, 3, 50)
		}
	}
}

func mustTakeSome(t *testing.T, ep transport.Endpoint) []transport.Op {
	t.Helper()
	for {
		op := mustTake(t, ep, 1)
		if op[0].Kind == transport.Recv {
			return op
		}
	}
}

func testDeadContext(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ep[0].Poll(dead, make([]transport.Op, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Poll() = %v, want context.Canceled", err)
	}
	ops := []transport.Op{message(ep[0], transport.Send, 1, 0, 10)}
	if err := ep[0].Exchange(dead, ops); !errors.Is(err, context.Canceled) {
		t.Errorf("Exchange() = %v, want context.Canceled", err)
	}
	each(t, ep, func(e transport.Endpoint) error { // the Exchange did no harm
		return e.Exchange(t.Context(), []transport.Op{
			message(e, transport.Send, 1-e.Rank(), 1, 10),
			message(e, transport.Recv, 1-e.Rank(), 1, 10),
		})
	})
}

func testClose(t *testing.T, connect Connect) {
	t.Run("Exchange", func(t *testing.T) {
		ep := connect(t, 2, transport.Single)
		ops, begun := blocked(t, ep)
		result := make(chan error)
		go func() { result <- ep[0].Exchange(t.Context(), ops) }()
		begun()
		checkClose(t, ep[0], result)
	})
	t.Run("Poll", func(t *testing.T) {
		ep := connect(t, 2, transport.Single)
		ops, begun := blocked(t, ep)
		post(t, ep[0], ops...)
		result := make(chan error)
		go func() {
			_, err := take(t.Context(), ep[0], 2)
			result <- err
		}()
		begun()
		checkClose(t, ep[0], result)
	})
}

func checkClose(t *testing.T, ep transport.Endpoint, result chan error) {
	t.Helper()
	if err := ep.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := <-result; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("the blocked call returned %v, want ErrClosed", err)
	}
	if err := ep.Post(nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Post() on a closed endpoint = %v", err)
	}
	if err := ep.Exchange(t.Context(), nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Exchange() on a closed endpoint = %v", err)
	}
	ep.Wake() // harmless
	ep.Retransmits()
	if err := ep.Close(); err != nil {
		t.Errorf("second Close() = %v", err)
	}
}

func testWake(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	done := make([]transport.Op, 1)
	ep[0].Wake() // before Poll, and twice: one is enough for both
	ep[0].Wake()
	if n, err := ep[0].Poll(t.Context(), done); n != 0 || err != nil {
		t.Errorf("Poll() = %d, %v; want 0 operations", n, err)
	}
	// The second Poll waits: only a Wake after its start, or just before, can end it.
	result := make(chan error)
	go func() {
		_, err := ep[0].Poll(t.Context(), done)
		result <- err
	}()
	ep[0].Wake()
	if err := <-result; err != nil {
		t.Errorf("Poll() = %v", err)
	}
	// A Wake never costs an operation.
	post(t, ep[0], message(ep[0], transport.Send, 1, 0, 10))
	ep[0].Wake()
	mustTake(t, ep[0], 1)
}

func testClosedPeer(t *testing.T, connect Connect) {
	ep := connect(t, 3, transport.Single)
	for _, c := range []struct {
		name string
		op   transport.Op
	}{
		{"receive", message(ep[0], transport.Recv, 1, 0, 10)},
		{"send", message(ep[2], transport.Send, 1, 0, 8<<20)},
	} {
		_ = ep[1].Close()
		e := ep[map[string]int{"receive": 0, "send": 2}[c.name]]
		err := e.Exchange(t.Context(), []transport.Op{c.op})
		if pe, ok := errors.AsType[*transport.PeerError](err); !ok || pe.Peer != 1 {
			t.Errorf("%s: Exchange() = %v, want an error that names rank 1", c.name, err)
		}
	}
}

func testClosedRequester(t *testing.T, connect Connect) {
	ep := connect(t, 3, transport.Single)
	post(t, ep[0], message(ep[0], transport.RecvRequest, 1, 0, 0))
	_ = ep[1].Close()
	post(t, ep[0], message(ep[0], transport.Recv, 2, 0, 10))
	post(t, ep[2], message(ep[2], transport.Send, 0, 0, 10))
	mustTake(t, ep[2], 1)
	checkReceived(t, 0, mustTake(t, ep[0], 1)[0], 0, 10)
}
