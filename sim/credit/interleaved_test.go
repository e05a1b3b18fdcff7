package credit

import (
	"fmt"
	"math"
	"testing"

	"evbench/topology/network"
)

// A trial is one run of a network with either model.
type trial struct {
	topology string
	dead     []string
	choice   Choice
	lanes    int
	buffer   int
	through  bool // cut-through
	staged   bool // five stages a switch, else three
	fixed    []uint8
	traffic  Traffic
	from     Time
	until    Time
	seed     uint64
}

// run returns what the meter says; interleave chooses the model.
func (tr trial) run(t testing.TB, interleave bool) *Meter {
	t.Helper()
	n, err := network.Parse(tr.topology, 0)
	if err != nil {
		t.Fatal(err)
	}
	if tr.dead != nil {
		if n, err = n.Degrade(tr.dead); err != nil {
			t.Fatal(err)
		}
	}
	w := NewWires(n, 1, 1)
	r := nearest(n, w)
	r.Choice, r.Lane = tr.choice, tr.fixed
	p := Params{
		Packet: 16, Lanes: tr.lanes, Buffer: tr.buffer, CutThrough: tr.through, Interleave: interleave,
		Delay: 2, Credit: 2, RouteAhead: true, Host: HostParams{Behind: 1},
	}
	if tr.staged {
		p.Delay, p.Gap, p.Idle, p.RouteAhead = 4, 2, 1, false
	}
	if tr.through {
		p.Host.Take = 1
	}
	traffic := tr.traffic
	traffic.Flits, traffic.Every = 16, 1
	traffic.Start(n.Hosts(), tr.seed)
	e, err := New(p, w, r, &traffic, tr.seed)
	if err != nil {
		t.Fatal(err)
	}
	if tr.until == 0 {
		tr.until = 1 << 40
	}
	e.Meter.From, e.Meter.Until = tr.from, tr.until
	if err := e.Run(tr.until); err != nil {
		t.Fatal(err)
	}
	return &e.Meter
}

// nearest returns all shortest ways; of k the one numbered destination mod k is first.
func nearest(n *network.Network, w *Wires) *Routes {
	r := NewRoutes(w)
	for dst := range n.Hosts() {
		far := map[int32]int{int32(dst): 0}
		for next := []int32{int32(dst)}; len(next) > 0; next = next[1:] {
			for l := w.First[next[0]]; l < w.First[next[0]+1]; l++ {
				if _, seen := far[w.To[l]]; w.To[l] >= 0 && !seen {
					far[w.To[l]] = far[next[0]] + 1
					next = append(next, w.To[l])
				}
			}
		}
		for i := range n.Switches() {
			v := int32(n.Hosts() + i)
			var links []int32
			for l := w.First[v]; l < w.First[v+1]; l++ {
				if w.To[l] >= 0 && far[w.To[l]] < far[v] {
					links = append(links, l)
				}
			}
			k := dst % len(links)
			r.Set(i, dst, append(links[k:len(links):len(links)], links[:k]...)...)
		}
	}
	return r
}

// within fails unless two figures differ by no more than a part of the second.
func within(t *testing.T, what string, a, b, part float64) {
	t.Helper()
	if math.Abs(a-b) > part*math.Abs(b) {
		t.Errorf("%s: interleaved %.5g, fifo %.5g: more than %.3g %% apart", what, a, b, 100*part)
	}
}

func TestInterleavedWithoutLoad(t *testing.T) {
	for _, staged := range []bool{false, true} {
		for by, switches := range map[int]Time{1: 1, 4: 3} {
			tr := trial{topology: "kary(4;2)", lanes: 1, buffer: 32, staged: staged, seed: 1}
			tr.traffic = Traffic{Pattern: Shift(16, by), Count: 1}
			if by == 1 {
				tr.traffic.Pattern = func(h int32, _ int64, _ *random) int32 { return h ^ 1 }
			}
			want := 2 + 3*switches + 15
			if staged {
				want = 2 + 5*switches + 15
			}
			for _, lanes := range []int{1, 4} {
				tr.lanes = lanes
				m := tr.run(t, true)
				if m.Least != want || m.Most != want {
					t.Errorf("staged %v, %d lanes, %d switches: latency %d to %d, want %d", staged, lanes, switches, m.Least, m.Most, want)
				}
			}
			if tr.lanes = 1; tr.run(t, false).Most != want {
				t.Errorf("fifo, staged %v, %d switches: latency is not %d", staged, switches, want)
			}
		}
	}
}

// With one lane nothing interleaves: whole packets worked out ahead must give what
// flits give cycle by cycle, to the digit where nothing is drawn.
func TestOneLaneInterleavedIsFIFO(t *testing.T) {
	const exact = 1e-12
	full := func(tr trial) trial {
		tr.from, tr.until, tr.traffic = 2000, 12000, Traffic{Pattern: Uniform(16)}
		return tr
	}
	light := func(tr trial) trial {
		tr.from, tr.until, tr.traffic = 500, 8000, Traffic{Pattern: Uniform(16), Bernoulli: .2 / 16}
		return tr
	}
	batch := func(tr trial, step int) trial {
		tr.traffic = Traffic{Pattern: ShiftSequence(16, step), Count: 150}
		return tr
	}
	dead := []string{"s1_0-s2_0"}
	for _, c := range []struct {
		name string
		trial
		flits, latency float64
	}{
		{"shifts in step", batch(trial{buffer: 32}, 1), 0, exact},
		{"shifts in step, staged", batch(trial{buffer: 32, staged: true}, 1), 0, exact},
		{"batch, dead link", batch(trial{buffer: 32, dead: dead}, 7), 0, exact},
		{"batch, dead link, cut-through", batch(trial{buffer: 16, dead: dead, through: true}, 1), 0, exact},
		{"light", light(trial{buffer: 32}), 0, exact},
		{"light, staged", light(trial{buffer: 32, staged: true}), 0, exact},
		{"full", full(trial{buffer: 32}), 0, exact},
		{"full, staged", full(trial{buffer: 32, staged: true}), 0, exact},
		{"full, half a packet", full(trial{buffer: 8}), 0, exact},
		{"full, cut-through", full(trial{buffer: 16, through: true}), 0, exact},
		{"full, dead link", full(trial{buffer: 32, dead: dead}), 0, exact},
		{"full, sprayed", full(trial{buffer: 32, choice: Random}), 0.02, 0.05},
		{"full, adaptive", full(trial{buffer: 32, choice: BetterOfTwo}), 0.02, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.topology, c.lanes, c.seed = "kary(4;2)", 1, 3
			a, b := c.run(t, true), c.run(t, false)
			within(t, "flits", float64(a.Total()), float64(b.Total()), c.flits)
			if c.until == 0 {
				within(t, "end", float64(a.Last), float64(b.Last), 0)
			}
			within(t, "network latency", float64(a.Network)/float64(a.Packets), float64(b.Network)/float64(b.Packets), c.latency)
		})
	}
}

// More lanes let more through where packets wait behind others, and all that hosts send
// where they do not. Four are hardly more than two: half of the heads ask in vain.
func TestInterleavedLanes(t *testing.T) {
	tr := trial{topology: "kary(4;2)", choice: Random, buffer: 32, from: 2000, until: 12000, seed: 1}
	with := func(lanes int) float64 {
		tr.lanes, tr.traffic = lanes, Traffic{Pattern: Uniform(16)}
		return float64(tr.run(t, true).Total())
	}
	if one, two, four := with(1), with(2), with(4); two < 1.15*one || four < 1.01*two {
		t.Errorf("one lane delivers %g flits, two %g, four %g", one, two, four)
	}
	tr = trial{topology: "kary(4;2)", buffer: 32, lanes: 4, from: 2000, until: 12000, seed: 1, traffic: Traffic{Pattern: Shift(16, 5)}}
	if got := tr.run(t, true).Total(); got < 159_000 {
		t.Errorf("a shift without shared links delivers %d of 160000 flits", got)
	}
}

// Lanes that a table fixes are kept to: with all on one lane the others do nothing.
func TestInterleavedFixedLanes(t *testing.T) {
	tr := trial{topology: "kary(4;2)", buffer: 32, lanes: 1, from: 2000, until: 12000, seed: 1}
	tr.traffic = Traffic{Pattern: Uniform(16)}
	one := tr.run(t, true).Total()
	tr.lanes, tr.fixed = 3, make([]uint8, 256)
	for i := range tr.fixed {
		tr.fixed[i] = 2
	}
	tr.traffic = Traffic{Pattern: Uniform(16)}
	within(t, "flits on a lane of three", float64(tr.run(t, true).Total()), float64(one), 0.01)
}

func TestInterleavedDeterministic(t *testing.T) {
	for _, through := range []bool{false, true} {
		for _, choice := range []Choice{Random, BetterOfTwo, Best} {
			tr := trial{topology: "kary(4;2)", choice: choice, buffer: 16, lanes: 4, through: through, from: 100, until: 4000, seed: 5}
			tr.traffic = Traffic{Pattern: Others(16), Bernoulli: .6 / 16}
			a := fmt.Sprint(*tr.run(t, true))
			if b := fmt.Sprint(*tr.run(t, true)); a != b {
				t.Errorf("%v: two runs differ:\n%s\n%s", choice, a, b)
			}
			tr.seed++
			if c := fmt.Sprint(*tr.run(t, true)); a == c {
				t.Errorf("%v: another seed changes nothing", choice)
			}
		}
	}
}

// A host that takes its time holds back those who send to it, and nothing is lost.
func TestInterleavedSlowSink(t *testing.T) {
	n, err := network.Parse("kary(4;2)", 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWires(n, 1, 1)
	for _, interleave := range []bool{false, true} {
		tr := Traffic{Pattern: Shift(16, 5), Count: 50, Flits: 16}
		tr.Start(16, 1)
		p := Params{
			Packet: 16, Lanes: 1, Buffer: 32, Interleave: interleave, Delay: 2, Credit: 2, RouteAhead: true,
			Host: HostParams{Behind: 1, Take: 3},
		}
		e, err := New(p, w, nearest(n, w), &tr, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(1 << 40); err != nil {
			t.Fatal(err)
		}
		if e.Meter.Packets != 800 || e.Meter.Last < 3*(50*16-32) || e.Meter.Last > 3*50*16+50 {
			t.Errorf("interleaved %v: %d packets, the last at %d", interleave, e.Meter.Packets, e.Meter.Last)
		}
	}
}

func TestInterleavedRefuses(t *testing.T) {
	n, err := network.Parse("kary(2;2)", 0)
	if err != nil {
		t.Fatal(err)
	}
	good := Params{Packet: 4, Lanes: 2, Buffer: 8, Interleave: true, Delay: 4, Gap: 2, Idle: 1}
	for name, change := range map[string]func(*Params, *Wires){
		"speeds":       func(_ *Params, w *Wires) { w.Flit[1] = 2 },
		"idle":         func(p *Params, _ *Wires) { p.Idle = 2 },
		"gap":          func(p *Params, _ *Wires) { p.Gap = 5 },
		"oldest first": func(p *Params, _ *Wires) { p.Arbitration = Oldest },
	} {
		p, w := good, NewWires(n, 1, 1)
		change(&p, w)
		if _, err := New(p, w, NewRoutes(w), &Traffic{}, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w := NewWires(n, 1, 1)
	if _, err := New(good, w, NewRoutes(w), &Traffic{}, 1); err != nil {
		t.Error(err)
	}
}

func BenchmarkInterleaved(b *testing.B) {
	for _, lanes := range []int{1, 4} {
		b.Run(fmt.Sprint(lanes, " lanes"), func(b *testing.B) {
			var flits int64
			for range b.N {
				tr := trial{topology: "kary(4;2)", choice: Random, buffer: 32, lanes: lanes, until: 40000, seed: 1}
				tr.traffic = Traffic{Pattern: Uniform(16)}
				flits += tr.run(b, true).Total()
			}
			b.ReportMetric(float64(flits)/b.Elapsed().Seconds(), "flits/s")
		})
	}
}

// A link that dies takes what is on it; heads that wait for it go elsewhere, and all
// arrive.
func TestInterleavedReroutes(t *testing.T) {
	n, err := network.Parse("kary(4;2)", 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWires(n, 1, 1)
	for _, ahead := range []bool{false, true} {
		tr := Traffic{Pattern: func(h int32, _ int64, _ *random) int32 { return (h/4*4 + 4) % 16 }, Count: 40, Flits: 16}
		tr.Start(16, 1)
		p := Params{
			Packet: 16, Lanes: 2, Buffer: 16, Interleave: true, Delay: 2, Credit: 2, RouteAhead: ahead,
			Host: HostParams{Behind: 1},
		}
		e, err := New(p, w, nearest(n, w), &tr, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(500); err != nil {
			t.Fatal(err)
		}
		again := nearest(n, w)
		leaf := w.To[w.First[0]] - 16
		ways := again.links(leaf, 4)
		dead, other := ways[0], ways[1]
		before := e.Carried(dead)
		again.Set(int(leaf), 4, other)
		e.Reroute(again, []int32{dead})
		if err := e.Run(1 << 40); err != nil {
			t.Fatal(err)
		}
		if e.Meter.Packets != 640 || before == 0 || e.Carried(dead) > before+200 || e.Carried(other) == 0 {
			t.Errorf("ahead %v: %d packets of 640; the dead link carried %d flits, later %d, another %d",
				ahead, e.Meter.Packets, before, e.Carried(dead), e.Carried(other))
		}
	}
}
