package transporttest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

func TestContract(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int, _ ...int) []transport.Endpoint {
		var out []transport.Endpoint
		for _, e := range transporttest.New(n, nil) {
			out = append(out, e)
			t.Cleanup(func() { _ = e.Close() })
		}
		return out
	})
}

func TestBarrierContract(t *testing.T) {
	transporttest.RunBarrier(t, func(t *testing.T, n int, _ string) []transporttest.Signaller {
		var out []transporttest.Signaller
		for _, e := range transporttest.New(n, nil) {
			out = append(out, e)
		}
		return out
	})
}

func message(k transport.Kind, peer int, body string) transport.Op {
	return transport.Op{Kind: k, Peer: peer, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: []byte(body)}
}

func TestFault(t *testing.T) {
	what := transporttest.Deliver
	ep := transporttest.New(2, func(m *transporttest.Message) transporttest.Action {
		expect.True(t, m.Src == 0 && m.Dst == 1 && m.Path == transport.Single && !m.Request, "the fault was asked about %+v", m)
		m.Body[0]++
		return what
	})
	for _, what = range []transporttest.Action{transporttest.Deliver, transporttest.Drop, transporttest.Duplicate} {
		body := message(transport.Send, 1, "a")
		expect.Must(t, ep[0].Exchange(t.Context(), []transport.Op{body}))
		expect.True(t, string(body.Body) == "a", "the sender's own buffer was corrupted")
	}
	for range 3 { // one delivered, none, two
		got := []transport.Op{message(transport.Recv, 0, "-")}
		if err := ep[1].Exchange(t.Context(), got); err != nil || string(got[0].Body) != "b" {
			t.Errorf("received %q, %v", got[0].Body, err)
		}
	}
}

// A lost message is found by the time-out, which takes no time here.
func TestLostMessageUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ep := transporttest.New(2, func(*transporttest.Message) transporttest.Action { return transporttest.Drop })
		expect.Must(t, ep[0].Exchange(t.Context(), []transport.Op{message(transport.Send, 1, "a")}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		err := ep[1].Exchange(ctx, []transport.Op{message(transport.Recv, 0, "-")})
		expect.False(t, !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour, "Exchange() = %v after %v", err, time.Since(start))
	})
}

var _ barrier.Peer = (*transporttest.Endpoint)(nil)
