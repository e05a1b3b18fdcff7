package transporttest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"evbench/transport"
)

func drop(ep transport.Endpoint, peer, what, size int) transport.Op {
	op := message(ep, transport.Recv, peer, what, 0)
	op.Drop = size
	return op
}

func checkDropped(t *testing.T, rank int, op transport.Op, what, size int) {
	t.Helper()
	if op.N != size || op.Body != nil {
		t.Errorf("rank %d: message %d: %d bytes dropped, %d kept, want %d dropped", rank, what, op.N, len(op.Body), size)
	}
	if want := fill(make([]byte, transport.HeadSize), op.Peer, rank, what); !bytes.Equal(op.Head, want) {
		t.Errorf("rank %d: the head from rank %d is not that of message %d", rank, op.Peer, what)
	}
}

func testDrop(t *testing.T, connect Connect) {
	t.Run("posted", func(t *testing.T) { testDropPosted(t, connect) })
	t.Run("Exchange", func(t *testing.T) { testDropExchange(t, connect) })
	t.Run("a longer body is ErrSize", func(t *testing.T) { testDropLonger(t, connect) })
}

// dropSizes are of all lengths, with and without bytes to discard.
var dropSizes = []int{1, 0, 100, 65536, 7, 3<<20 + 5, 4096, 0, 200000}

// Dropped and kept bodies take turns: none begins before another has ended.
func testDropPosted(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	each(t, ep, func(e transport.Endpoint) error {
		p := 1 - e.Rank()
		for i := range 2 * len(dropSizes) {
			size := dropSizes[i/2]
			ops := []transport.Op{message(e, transport.Send, p, i, size)}
			if i%2 == 0 {
				ops = append(ops, drop(e, p, i, size+10))
			} else {
				ops = append(ops, message(e, transport.Recv, p, i, size+10))
			}
			if err := e.Post(ops); err != nil {
				return err
			}
		}
		done, err := take(t.Context(), e, 4*len(dropSizes))
		for _, op := range done {
			switch size := dropSizes[op.ID/2]; {
			case op.Kind != transport.Recv:
			case op.Drop > 0:
				checkDropped(t, e.Rank(), op, int(op.ID), size)
			default:
				checkReceived(t, e.Rank(), op, int(op.ID), size)
			}
		}
		return err
	})
}

func testDropExchange(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	each(t, ep, func(e transport.Endpoint) error {
		p := 1 - e.Rank()
		for i, size := range dropSizes {
			ops := []transport.Op{drop(e, p, i, max(size, 1)), message(e, transport.Send, p, i, size)}
			if err := e.Exchange(t.Context(), ops); err != nil {
				return err
			}
			checkDropped(t, e.Rank(), ops[0], i, size)
		}
		return nil
	})
}

func testDropLonger(t *testing.T, connect Connect) {
	ep := connect(t, 2, transport.Single)
	post(t, ep[0], message(ep[0], transport.Send, 1, 0, 1001))
	mustTake(t, ep[0], 1)
	err := ep[1].Exchange(t.Context(), []transport.Op{drop(ep[1], 0, 0, 1000)})
	if pe, ok := errors.AsType[*transport.PeerError](err); !ok || !errors.Is(err, transport.ErrSize) || pe.Peer != 0 {
		t.Errorf("Exchange() = %v, want ErrSize that names rank 0", err)
	}
	if _, err := ep[1].Poll(context.Background(), make([]transport.Op, 1)); !errors.Is(err, transport.ErrSize) {
		t.Errorf("Poll() after it = %v, want ErrSize again", err)
	}
}
