package credit

import (
	"fmt"
	"testing"

	"evbench/internal/lists"
	"evbench/internal/splitmix"
	"evbench/site/network"
	"evbench/testing/expect"
)

// treeRoutes are those of d-mod-k in a tree of two levels and k hosts a leaf.
func treeRoutes(n *network.Network, w *Wires, k int) *Routes {
	r := NewRoutes(w)
	for i := range n.Switches() {
		sw := n.Switch(i)
		for dst := range n.Hosts() {
			leaf := n.Leaf(network.Node(dst)).Node
			for p, far := range n.Ends(sw) {
				down := far.Node == network.Node(dst) || far.Node == leaf
				if down || sw != leaf && !n.IsHost(far.Node) && n.IsHost(n.Ends(sw)[0].Node) && p == k+dst%k {
					r.Set(i, dst, w.Link(sw, p+1))
					break
				}
			}
		}
	}
	return r
}

const testFlit = 100

func perOutputParams() Params {
	return Params{
		Packet: 32, Lanes: 1, Buffer: 128, Organisation: PerOutput, Arbitration: Oldest, CutThrough: true,
		Reads: 3, Delay: 900, After: 500, OutputQueue: 78, Cross: 95,
		Host: HostParams{Generate: 80, Cross: 90, Ahead: 4, Queue: 36},
	}
}

// perOutputKinds are parameters under which nothing may be lost.
func perOutputKinds() map[string]Params {
	kinds := map[string]Params{"plain": perOutputParams()}
	p := perOutputParams()
	p.InOrder, p.CreditAtEnds, p.Update, p.Overhead, p.Host.Take = true, true, 2000, 12, 80
	kinds["reports"] = p
	p.Buffer = 32
	kinds["one packet"] = p
	p.Host.Take = 150
	kinds["slow hosts"] = p
	p = perOutputParams()
	p.Reads, p.CreditAtEnds, p.Host.Take = 1, true, 80
	kinds["one read"] = p
	return kinds
}

func runTree(t *testing.T, p Params, traffic *Traffic, until Time) *Engine {
	t.Helper()
	n := expect.Value(network.Parse("kary(4;2)", 0))(t)
	w := NewWires(n, testFlit, 0)
	traffic.Start(n.Hosts(), 7)
	e := expect.Value(New(p, w, treeRoutes(n, w, 4), traffic, 7))(t)
	expect.Must(t, e.Run(until))
	return e
}

// TestPerOutputDrains: all that is sent arrives, and all room comes back.
func TestPerOutputDrains(t *testing.T) {
	for name, p := range perOutputKinds() {
		for _, pattern := range []Pattern{Others(16), ShiftSequence(16), func(h int32, _ int64, _ *splitmix.Random) int32 { return (h &^ 15) | h&3 ^ 1 }} {
			e := runTree(t, p, &Traffic{Pattern: pattern, Flits: 80, Count: 50}, never)
			got, want := lists.Sum(e.Meter.Flits, func(n int64) int64 { return n }), int64(16*50*80)
			expect.True(t, got == want, "%s: %d of %d flits arrive", name, got, want)
			m := e.sw.(*perOutput)
			for ch, room := range m.room {
				if int(room) != p.Buffer && !(p.Host.Take == 0 && int(e.w.To[ch]) < e.w.Hosts) {
					t.Errorf("%s: link %d ends with room for %d of %d flits", name, ch, room, p.Buffer)
					break
				}
			}
			for i := range m.in {
				if m.in[i].reads != 0 || len(m.in[i].active) > 0 {
					t.Errorf("%s: link %d ends with %d packets that leave", name, i, len(m.in[i].active))
					break
				}
			}
		}
	}
}

// TestPerOutputAlone: a packet that meets no other takes the delays of its way.
func TestPerOutputAlone(t *testing.T) {
	for by, switches := range map[int]Time{1: 1, 4: 3} {
		one := func(h int32, _ int64, _ *splitmix.Random) int32 {
			switch {
			case h == 0:
				return int32(by)
			case int(h) == by^1: // whose partner host 0 has taken
				return 1
			}
			return h ^ 1
		}
		e := runTree(t, perOutputParams(), &Traffic{Pattern: one, Flits: 32, Count: 1}, never)
		want := 32*Time(testFlit) + switches*(900+testFlit)
		expect.True(t, e.Meter.Most == want, "through %d switches: %d ticks, want %d", switches, e.Meter.Most, want)
		expect.False(t, by == 1 && e.Meter.Most != e.Meter.Least, "from %d to %d ticks", e.Meter.Least, e.Meter.Most)
	}
}

// TestPerOutputFull: a permutation whose paths share no link fills all links but for the
// reports of credits.
func TestPerOutputFull(t *testing.T) {
	p := perOutputKinds()["reports"]
	e := runTree(t, p, &Traffic{Pattern: Shift(16, 4), Flits: 128}, 1_000_000)
	share := float64(lists.Sum(e.Meter.Flits, func(n int64) int64 { return n })) * testFlit / 16 / 1_000_000
	want := 3200.0 / 3212
	expect.True(t, share >= want*0.99 && share <= want, "%.4f of the links is used, want %.4f less the beginning", share, want)
}

func TestPerOutputSeed(t *testing.T) {
	var before string
	for range 2 {
		e := runTree(t, perOutputKinds()["reports"], &Traffic{Pattern: Others(16), Flits: 64}, 2_000_000)
		now := fmt.Sprint(e.Meter)
		expect.False(t, before != "" && now != before, "one seed, two results:\n%s\n%s", before, now)
		before = now
	}
}
