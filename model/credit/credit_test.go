package credit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/internal/lists"
	"evbench/model/credit"
	"evbench/site/network"
	"evbench/testing/expect"
)

// tree is a k-ary n-tree with all shortest ways as routes, or the one of d-mod-k.
func tree(t testing.TB, notation string, choice credit.Choice, down ...string) (*credit.Wires, *credit.Routes) {
	t.Helper()
	n, err := network.Parse(notation, 0)
	if err == nil && down != nil {
		n, err = n.Degrade(down)
	}
	expect.Must(t, err)
	w := credit.NewWires(n, 10, 10)
	r := credit.NewRoutes(w)
	r.Choice = choice
	for dst := range n.Hosts() {
		far := distances(n, network.Node(dst))
		for i := range n.Switches() {
			sw := n.Switch(i)
			var links []int32
			for p, end := range n.Ends(sw) {
				if end.Node != network.NoNode && far[end.Node] < far[sw] {
					links = append(links, w.Link(sw, p+1))
				}
			}
			if choice == credit.First && len(links) > 1 {
				links = links[dst%len(links):][:1]
			}
			r.Set(i, dst, links...)
		}
	}
	return w, r
}

func distances(n *network.Network, dst network.Node) []int {
	far := make([]int, n.Nodes())
	for i := range far {
		far[i] = 1 << 20
	}
	far[dst] = 0
	for next := []network.Node{dst}; len(next) > 0; next = next[1:] {
		for _, end := range n.Ends(next[0]) {
			if end.Node != network.NoNode && far[end.Node] == 1<<20 {
				far[end.Node] = far[next[0]] + 1
				next = append(next, end.Node)
			}
		}
	}
	return far
}

func fifo(packet, buffer int, cutThrough bool) credit.Params {
	return credit.Params{Packet: packet, Lanes: 1, Buffer: buffer, CutThrough: cutThrough, Delay: 20, Credit: 20}
}

func perOutput(packet, buffer int) credit.Params {
	return credit.Params{
		Packet: packet, Lanes: 1, Buffer: buffer, CutThrough: true, Organisation: credit.PerOutput, Arbitration: credit.Oldest,
		Reads: 3, Delay: 30, After: 15, OutputQueue: 5 * packet / 2, Cross: 9, CreditAtEnds: true, Credit: 10,
		Host: credit.HostParams{Generate: 8, Cross: 9, Ahead: min(4, packet), Queue: packet + 4},
	}
}

func run(t testing.TB, p credit.Params, w *credit.Wires, r *credit.Routes, x *credit.Traffic, seed uint64) *credit.Engine {
	t.Helper()
	x.Start(w.Hosts, seed)
	e := expect.Value(credit.New(p, w, r, x, seed))(t)
	expect.Must(t, e.Run(1<<40))
	expect.MustTrue(t, e.Done(), "something is still to happen")
	return e
}

// Every flit that is sent arrives once, whatever the network, the switches, the routes and
// the seed are: nothing is lost, and nothing waits for ever.
func TestAllArrive(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		packet := 1 + draw.IntN(20)
		p := fifo(packet, 1+draw.IntN(3*packet), false)
		if draw.IntN(2) == 0 {
			p = fifo(packet, packet+draw.IntN(3*packet), true)
		}
		if draw.IntN(3) == 0 {
			p = perOutput(packet, packet+draw.IntN(5*packet))
		}
		choice := credit.Choice(draw.IntN(len(credit.Choices())))
		notation := []string{"kary(4;2)", "kary(2;3)", "FT(2;3,5)"}[draw.IntN(3)]
		w, r := tree(t, notation, choice, []string{"s1_0-s2_0"}[:draw.IntN(2)]...)
		flits, count := int64(1+draw.IntN(3*packet)), int64(1+draw.IntN(20))
		pattern := []credit.Pattern{credit.Others(w.Hosts), credit.Shift(w.Hosts, 3), credit.ShiftSequence(w.Hosts)}[draw.IntN(3)]
		name := fmt.Sprintf("%s %v %+v", notation, choice, p)
		e := run(t, p, w, r, &credit.Traffic{Pattern: pattern, Flits: flits, Count: count}, draw.Uint64())
		got, want := lists.Sum(e.Meter.Flits, func(n int64) int64 { return n }), int64(w.Hosts)*flits*count
		expect.True(t, got == want, "%s: %d flits arrive, %d are sent", name, got, want)
		if got, want := e.Meter.Messages, int64(w.Hosts)*count; got != want {
			t.Errorf("%s: %d messages arrive, %d are sent", name, got, want)
		}
	}
}

// A packet alone takes what its links and switches take, to the tick.
func TestAlone(t *testing.T) {
	for _, packet := range []int{1, 2, 16} {
		w, r := tree(t, "kary(4;3)", credit.First)
		for _, by := range []int{1, 4, 16} {
			p := fifo(packet, 32, false)
			e := run(t, p, w, r, &credit.Traffic{Pattern: credit.Shift(w.Hosts, by), Flits: int64(packet), Count: 1}, 1)
			hops := map[int]int64{1: 1, 4: 3, 16: 5}[by]
			if by == 1 {
				continue // some hosts have it on their own leaf only
			}
			// A switch costs the wire before it and its delay, the last link its wire.
			want := hops*(10+20) + int64(packet-1)*10 + 10
			expect.Equal(t, e.Meter.Least, want, "%d flits through %d switches take at least: ticks", packet, hops)
		}
	}
}

// The same seed gives the same, another seed something else.
func TestSeed(t *testing.T) {
	for _, p := range []credit.Params{fifo(16, 32, false), perOutput(16, 64)} {
		for _, choice := range []credit.Choice{credit.Random, credit.BetterOfTwo, credit.Best} {
			var meters []credit.Meter
			for _, seed := range []uint64{1, 1, 2} {
				w, r := tree(t, "kary(4;2)", choice)
				e := run(t, p, w, r, &credit.Traffic{Pattern: credit.Others(w.Hosts), Flits: 48, Count: 30}, seed)
				meters = append(meters, e.Meter)
			}
			expect.True(t, meters[0].Latency == meters[1].Latency && meters[0].Last == meters[1].Last && meters[0].Early == meters[1].Early,
				"%v: one seed gives %+v and %+v", choice, meters[0], meters[1])
			expect.True(t, meters[0].Latency != meters[2].Latency, "%v: two seeds give the same latency", choice)
		}
	}
}

// By tables packets of a flow keep their order; sprayed ones do not, and what the receiver
// holds is never more than came early.
func TestOrder(t *testing.T) {
	for _, choice := range []credit.Choice{credit.First, credit.Random} {
		w, r := tree(t, "kary(4;2)", choice)
		e := run(t, fifo(16, 32, true), w, r, &credit.Traffic{Pattern: credit.Shift(w.Hosts, 5), Flits: 1600, Count: 1}, 3)
		m := e.Meter
		sprayed := choice == credit.Random
		expect.True(t, (m.Early > 0) == sprayed && (m.Held > 0) == sprayed && m.Held <= m.Early,
			"%v: %d flits early, %d held", choice, m.Early, m.Held)
	}
}

// Shift patterns over d-mod-k share no link: all hosts send at the full rate of a link.
func TestNoContention(t *testing.T) {
	for _, p := range []credit.Params{fifo(16, 32, false), fifo(16, 32, true)} {
		w, r := tree(t, "kary(4;2)", credit.First)
		e := run(t, p, w, r, &credit.Traffic{Pattern: credit.Shift(w.Hosts, 4), Flits: 1600, Count: 1}, 1)
		alone := int64(3*30 + 1599*10 + 10)
		expect.True(t, e.Meter.Last == alone, "%+v: the last flit arrives at %d, alone it would at %d", p, e.Meter.Last, alone)
	}
}

func TestRefused(t *testing.T) {
	w, r := tree(t, "kary(2;2)", credit.First)
	for _, tt := range []struct {
		p    credit.Params
		want string
	}{
		{credit.Params{Lanes: 1, Buffer: 1}, "packet: 0 flits; it needs at least one"},
		{credit.Params{Packet: 1, Buffer: 1}, "lanes: 0; there are 1 to 15"},
		{credit.Params{Packet: 1, Lanes: 1}, "buffer: 0 flits; it needs at least one"},
		{fifo(16, 15, true), "buffer: 15 flits; cut-through needs room for a packet of 16"},
		{credit.Params{Packet: 1, Lanes: 1, Buffer: 1, Organisation: credit.PerOutput}, "a queue per output needs cut-through"},
	} {
		if _, err := credit.New(tt.p, w, r, &credit.Traffic{}, 1); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
