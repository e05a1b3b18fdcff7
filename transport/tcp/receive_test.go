package tcp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"evbench/internal/expect"
	"evbench/transport"
)

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
		if !bytes.Equal(got.Head, want.Head) || got.Drop == 0 && !bytes.Equal(got.Body[:len(want.Body)], want.Body) {
			t.Fatalf("message %d of %d bytes is not what was sent", i, len(want.Body))
		}
	}
}
