package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/transport"
)

// fill writes bytes that depend on sender, receiver and what. They repeat after 509 words: no power
// of two, so that a shifted piece does not fit.
func fill(b []byte, src, dst, what int) []byte {
	const period = 509 * 8
	x := uint64(src)<<40 | uint64(dst)<<20 | uint64(what) | 1<<63
	var word [8]byte
	for i := 0; i < min(len(b), period); i += 8 {
		x = x*6364136223846793005 + 1442695040888963407
		binary.LittleEndian.PutUint64(word[:], x)
		copy(b[i:], word[:])
	}
	for n := period; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return b
}

// over sets the path of a message.
func over(path int, op transport.Op) transport.Op {
	op.Path = path
	return op
}

func message(ep transport.Endpoint, k transport.Kind, peer, what, size int) transport.Op {
	op := transport.Op{Kind: k, Peer: peer, Path: transport.Single, ID: uint64(what), Head: make([]byte, transport.HeadSize)}
	if size > 0 {
		op.Body = ep.Alloc(size)
	}
	if k == transport.Send || k == transport.SendRequest {
		fill(op.Head, ep.Rank(), peer, what)
		fill(op.Body, ep.Rank(), peer, what)
	}
	return op
}

// checkReceived compares a finished receive with what fill made at the peer.
func checkReceived(t *testing.T, rank int, op transport.Op, what, size int) {
	t.Helper()
	if op.N != size {
		t.Errorf("rank %d: %d bytes from rank %d, want %d", rank, op.N, op.Peer, size)
		return
	}
	if want := fill(make([]byte, transport.HeadSize), op.Peer, rank, what); !bytes.Equal(op.Head, want) {
		t.Errorf("rank %d: the head from rank %d is not that of message %d", rank, op.Peer, what)
	}
	if want := fill(make([]byte, size), op.Peer, rank, what); !bytes.Equal(op.Body[:op.N], want) {
		t.Errorf("rank %d: the body from rank %d is not that of message %d", rank, op.Peer, what)
	}
}

func post(t *testing.T, ep transport.Endpoint, ops ...transport.Op) {
	t.Helper()
	if err := ep.Post(ops); err != nil {
		t.Fatalf("rank %d: Post: %v", ep.Rank(), err)
	}
}

func take(ctx context.Context, ep transport.Endpoint, n int) ([]transport.Op, error) {
	var all []transport.Op
	done := make([]transport.Op, 8)
	for len(all) < n {
		k, err := ep.Poll(ctx, done[:min(8, n-len(all))])
		if err != nil {
			return all, err
		}
		all = append(all, done[:k]...)
	}
	return all, nil
}

func mustTake(t *testing.T, ep transport.Endpoint, n int) []transport.Op {
	t.Helper()
	ops, err := take(t.Context(), ep, n)
	if err != nil {
		t.Fatalf("rank %d: Poll: %v", ep.Rank(), err)
	}
	return ops
}

func each(t *testing.T, eps []transport.Endpoint, f func(ep transport.Endpoint) error) {
	t.Helper()
	var g errgroup.Group
	for _, ep := range eps {
		g.Go(func() error { return f(ep) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
