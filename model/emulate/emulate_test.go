package emulate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"evbench/model/emulate"
	"evbench/plan"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
)

const (
	rate    = 100_000_000
	message = 500_000
	chunk   = 8_000
)

var epoch = time.Unix(1_700_000_000, 0)

func fabric(t *testing.T, notation string, dead ...topology.Link) (*topology.Tree, *emulate.Fabric) {
	t.Helper()
	return lossless(t, 0, notation, dead...)
}

// lossless returns a fabric whose switches have buffers of so many bytes.
func lossless(t *testing.T, buffer int, notation string, dead ...topology.Link) (*topology.Tree, *emulate.Fabric) {
	t.Helper()
	o := expect.Value(topology.Parse(notation))(t)
	tree, err := topology.New(o)
	expect.Must(t, err)
	if tree, err = tree.Without(dead...); err != nil {
		t.Fatal(err)
	}
	return tree, emulate.New(emulate.Options{Tree: tree, Rate: rate, MTU: 9000, Buffer: buffer})
}

// A flow is one message.
type flow struct{ src, dst, path int }

// play sends all flows at once, each with two chunks under way as the transport does it, in the order of a clock
// that the test owns. It returns when each is done, counted from now. Messages are whole numbers of chunks.
func play(f *emulate.Fabric, now time.Time, flows []flow, size int) []time.Duration {
	type turn struct {
		at           time.Time
		flow, flight int
	}
	var turns []turn // in which a flow asks for its next chunk, or for one on its way
	left, end := make([]int, len(flows)), make([]time.Duration, len(flows))
	for i := range flows {
		left[i] = size / chunk
		turns = append(turns, turn{now, i, 0}, turn{now, i, 0})
	}
	for len(turns) > 0 {
		next := 0
		for i := range turns {
			if turns[i].at.Before(turns[next].at) {
				next = i
			}
		}
		t := turns[next]
		turns = slices.Delete(turns, next, next+1)
		if t.flight > 0 {
			at, ok := f.Landed(t.flight, t.at)
			if !ok {
				turns = append(turns, turn{at, t.flow, t.flight})
				continue
			}
			end[t.flow] = max(end[t.flow], at.Sub(now))
		}
		if left[t.flow] == 0 {
			continue
		}
		fl := flows[t.flow]
		ready, flight, ok := f.Reserve(fl.src, fl.dst, fl.path, chunk, t.at)
		if ok {
			left[t.flow]--
			end[t.flow] = max(end[t.flow], ready.Sub(now))
		}
		turns = append(turns, turn{ready, t.flow, flight})
	}
	return end
}

// ideal is how long a message has a wire to itself.
func ideal(f *emulate.Fabric) float64 {
	packets := math.Ceil(chunk / (9000. - 52))
	return (chunk + 66*packets) / chunk * float64(message/chunk*chunk) * 8 / rate
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

// Where nobody is in the way, buffers cost nothing; where wires are shared, no less comes
// through with them than without.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name  string
		flows []flow
		want  float64 // in message times
	}{
		{"within a leaf", []flow{{0, 1, -1}}, 1},
		{"over a spine", []flow{{0, 3, 1}}, 1},
		{"apart", []flow{{0, 2, 0}, {1, 3, 1}}, 1},
		{"the two directions of a wire", []flow{{0, 2, 0}, {2, 0, 0}}, 1},
		{"one uplink", []flow{{0, 2, 0}, {1, 3, 0}}, 2},
		{"one server hears two", []flow{{0, 3, 0}, {2, 3, 0}}, 2},
		{"one server sends two", []flow{{0, 3, 0}, {0, 2, 1}}, 2},
		{"one downlink of three leaves", []flow{{0, 4, 0}, {2, 5, 0}}, 2},
	} {
		for _, buffer := range []int{0, 1, fourChunks} {
			_, f := lossless(t, buffer, "FT(2;2,3)")
			times, tolerance := play(f, epoch, c.flows, message), 0.04
			switch {
			case len(c.flows) == 1 && buffer == 0:
				tolerance = 1e-6
			case buffer > 0: // they share unevenly
				times = []time.Duration{slices.Max(times)}
			}
			for i, got := range times {
				if !near(got.Seconds(), c.want*ideal(f), tolerance) {
					t.Errorf("%s, buffers of %d bytes: flow %d took %.3f message times, want %v", c.name, buffer, i, got.Seconds()/ideal(f), c.want)
				}
			}
		}
	}
}

// TestPhases plays whole synchronised exchanges and compares their duration
// with what the plan predicts from the loads of its links.
func TestPhases(t *testing.T) {
	for _, c := range []struct {
		notation, schedule, routing string
		dead                        []topology.Link
	}{
		{"FT(2;2,2)", "linear-shift", "ftree", nil},
		{"FT(2;4,4)", "linear-shift", "ftree", nil},
		{"FT(2;4,4)", "linear-shift", "ftree", []topology.Link{{Leaf: 0, Spine: 0}}},
		{"FT(2;4,4)", "linear-shift", "minhop", []topology.Link{{Leaf: 1, Spine: 2}, {Leaf: 3, Spine: 0}}},
		{"FT(2;4,4)", "fors", "pinned", []topology.Link{{Leaf: 0, Spine: 0}}},
	} {
		tree, f := fabric(t, c.notation, c.dead...)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: c.schedule, Routing: c.routing, Engines: engines.Trees()}))(t)
		phases := make([][]flow, p.Schedule.Phases)
		for m := range p.Schedule.All() {
			spine, _ := p.Tree.SpineTop(p.Path(m.Src, m.Dst))
			phases[m.Phase] = append(phases[m.Phase], flow{m.Src, m.Dst, spine})
		}
		var took time.Duration
		for _, flows := range phases {
			took += slices.Max(play(f, epoch.Add(took), flows, message))
		}
		want := p.Cost(plan.Equal, 0).Synchronised()
		got := float64(tree.Servers()-1) * ideal(f) / took.Seconds()
		expect.True(t, near(got, want, 0.03), "%s %s %s %v: efficiency %.3f, predicted %.3f", c.notation, c.schedule, c.routing, c.dead, got, want)
		checkCounters(t, tree.Wires, f, phases)
	}
}

// checkCounters compares every wire's bytes with the messages sent over it.
func checkCounters(t *testing.T, tree topology.Wires, f *emulate.Fabric, phases [][]flow) {
	t.Helper()
	const perChunk = chunk + 66
	want := make([]uint64, tree.AllWires())
	for _, flows := range phases {
		for _, fl := range flows {
			for _, w := range tree.Path(nil, fl.src, fl.dst, fl.path) {
				want[w] += message / chunk * perChunk
			}
		}
	}
	for i, c := range f.Counters() {
		expect.True(t, int(c.Wire) == i && c.Bytes == want[i] && c.Packets == want[i]/perChunk, "wire %d: %+v, want %d bytes", i, c, want[i])
	}
}

func TestDeadLinkHoldsBack(t *testing.T) {
	tree, f := fabric(t, "FT(2;2,2)")
	dead := expect.Value(tree.Without(topology.Link{Leaf: 1, Spine: 0}))(t)
	f.SetTree(dead)
	now := epoch
	for range 100 { // it asks again and again
		again, _, ok := f.Reserve(0, 2, 0, chunk, now)
		if ok || !again.After(now) {
			t.Fatalf("at %v: %v, %v over a dead link", now.Sub(epoch), again, ok)
		}
		now = again
	}
	if _, _, ok := f.Reserve(0, 2, 1, chunk, now); !ok {
		t.Error("the other spine is dead too")
	}
	f.SetTree(tree)
	if _, _, ok := f.Reserve(0, 2, 0, chunk, now); !ok {
		t.Error("the link stays dead after it came up")
	}
}

func TestTables(t *testing.T) {
	tree, f := fabric(t, "FT(2;2,2)")
	if _, _, ok := f.Reserve(0, 2, -1, chunk, epoch); ok {
		t.Error("there is a route without tables")
	}
	for spine := range 2 {
		f.Install(tree, func(int, int) int { return spine })
		before := f.Counters()
		if _, _, ok := f.Reserve(0, 2, -1, chunk, epoch); !ok {
			t.Fatalf("no way over spine %d", spine)
		}
		for w, c := range f.Counters() {
			used := slices.Contains(tree.Path(nil, 0, 2, spine), topology.Wire(w))
			expect.Equal(t, c.Bytes > before[w].Bytes, used, "spine %d: wire %d carried something", spine, w)
		}
	}
}
