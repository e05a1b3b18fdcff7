package open

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evbench/controller/wire"
	"evbench/testing/expect"
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
	expect.Equal(t, Needs(c), want, "needs")
	c.Row = nil
	want = []tcp.Path{{Peer: 2, Spine: 4}, {Peer: 0, Spine: transport.Single}, {Peer: 2, Spine: transport.Single}}
	expect.Equal(t, Needs(c), want, "needs")
}

// Each transport of every program is opened in the way that its facts say, and one that is not handed in is missing.
func TestTransports(t *testing.T) {
	none := Program{}
	for name, o := range own {
		f := transport.Of(name)
		expect.True(t, f.Name == name && (o.start != nil) == f.Launched && (o.Listen != nil) != f.Launched,
			"%s: opened by start %v, by Listen %v; launched %v", name, o.start != nil, o.Listen != nil, f.Launched)
		expect.True(t, f.Needs != "" || none.missing(name) == nil, "%s needs nothing, but: %v", name, none.missing(name))
	}
	expect.ErrorIf(t, none.missing(transport.RDMA), "no transport rdma")
	handed := Program{Transports: map[string]Transport{transport.RDMA: {Listen: listenTCP}}}
	expect.OK(t, handed.missing(transport.RDMA))
}

// The file of a group is read whole, or refused with what is wrong in it.
func TestReadMembers(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"one", `[{"server": 3, "data": "10.0.0.1:7000,10.1.0.1:7000", "inside": "/proc/1/fd/7"}]`, ""},
		{"none", `[]`, "no member"},
		{"no list", `{}`, "cannot unmarshal"},
		{"cut short", `[{"server": 3`, "unexpected end"},
		{"no address", `[{"server": 3, "data": "10.0.0.1", "inside": "/x"}]`, "member 0"},
		{"no namespace", `[{"server": 3, "data": "10.0.0.1:1"}]`, "member 0"},
		{"no position", `[{"server": -1, "data": "10.0.0.1:1", "inside": "/x"}]`, "member 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "group")
			expect.Must(t, os.WriteFile(name, []byte(tt.text), 0o600))
			_, err := ReadMembers(name)
			expect.ErrorIf(t, err, tt.want)
		})
	}
}

// Servers are split evenly, in order, each into one process, as many as files allow.
func TestSplit(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for most := 1; most <= n; most++ {
			all := split(n, most)
			joined := slices.Concat(all...)
			expect.MustTrue(t, len(joined) == n && slices.IsSorted(joined), "%d servers by %d: %v", n, most, all)
			least := len(slices.MinFunc(all, func(a, b []int) int { return len(a) - len(b) }))
			for _, ranks := range all {
				expect.MustTrue(t, len(ranks) <= most && len(ranks) <= least+1, "%d servers by %d: %v", n, most, all)
			}
		}
	}
}
