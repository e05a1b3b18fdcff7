package open

import (
	"testing"

	"evbench/controller/wire"
	"evbench/internal/expect"
	"evbench/transport"
	"evbench/transport/tcp"
)

// A worker opens the paths of its row, or those that the tables choose, and beside them
// those that another plan may need.
func TestNeeds(t *testing.T) {
	c := wire.Configure{
		Rank: 1, Case: wire.Case{Peers: make([]wire.Peer, 3)}, Standby: []wire.Path{{Peer: 2, Spine: 4}},
		Row: wire.Steps{{To: 2, ToSpine: 1, From: 0}, {To: wire.Idle, From: 2}, {To: 0, ToSpine: 3, From: wire.Idle}},
	}
	want := []tcp.Path{{Peer: 2, Spine: 4}, {Peer: 2, Spine: 1}, {Peer: 0, Spine: 3}}
	expect.Equal(t, needs(c), want, "needs")
	c.Row = nil
	want = []tcp.Path{{Peer: 2, Spine: 4}, {Peer: 0, Spine: transport.Single}, {Peer: 2, Spine: transport.Single}}
	expect.Equal(t, needs(c), want, "needs")
}
