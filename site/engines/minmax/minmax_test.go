package minmax_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"evbench/site/engines"
	"evbench/site/engines/minmax"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/need"
)

func parsed(t testing.TB, notation string) *network.Network {
	t.Helper()
	return expect.Value(network.Parse(notation, 0))(t)
}

// largest is the largest load of the links between switches, over what each carries at once, from the
// routes of each pair, one after the other.
func largest(t testing.TB, tables *lft.Tables) (most float64) {
	t.Helper()
	n, load := tables.Net, map[network.End]float64{}
	capacity := n.Capacities()
	for src := range network.Node(n.Hosts()) {
		for dst := range network.Node(n.Hosts()) {
			if src == dst {
				continue
			}
			way, fault := tables.Route(src, tables.LID(src, dst))
			expect.MustTrue(t, fault == lft.NoFault, "%s to %s: %s", n.Name(src), n.Name(dst), fault)
			for _, e := range way[:len(way)-1] {
				load[e]++
			}
		}
	}
	for e, x := range load {
		if capacity != nil {
			x /= capacity(e)
		}
		most = max(most, x)
	}
	return most
}

// TestRandom: on 100 random networks routes arrive, the stated load is that of all pairs, no routing of
// OpenSM's engines goes below the bounds, and 95 are within 5 % of that of tables, by which the messages of one
// switch to one host stay together. With path bits, of the least LMC to 3 that suffices, 95 are within 5 % of the bound
// of routes that split messages.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	near, split, all := 0, 0, expect.Samples(100, 12)
	for i := range all {
		n := parsed(t, []string{
			fmt.Sprintf("Jellyfish(%d;%d;%d;%d)", 8+rng.IntN(16), 3+rng.IntN(3), 2+rng.IntN(4), i),
			fmt.Sprintf("Dragonfly(%d;%d;1;%d)", 2+rng.IntN(2), 3+rng.IntN(3), 3+rng.IntN(2)),
			fmt.Sprintf("HyperX(%d,%d;%d)", 3+rng.IntN(2), 2+rng.IntN(3), 2+rng.IntN(3)),
			fmt.Sprintf("FT(2;%d,%d)", 3+rng.IntN(4), 3+rng.IntN(4)),
		}[i%4])
		if dead, err := n.Random(rng.IntN(4), uint64(i)); err == nil {
			n = n.Without(dead, nil)
		}
		if i%5 == 0 {
			rates := map[network.End]float64{}
			for _, c := range n.Cables() {
				if rates[c.A] = 100e9; !n.IsHost(c.A.Node) {
					rates[c.A] *= float64(1 + rng.IntN(3))
				}
			}
			n = n.WithRates(rates)
		}
		tables, load := minmax.New(n, nil).Route(true)
		got := largest(t, tables)
		expect.MustTrue(t, math.Abs(got-load.Most) < 1e-9, "%s: %g messages on the fullest link, stated %g", n.Notation, got, load.Most)
		expect.MustTrue(t, load.Bound <= load.Most*(1+1e-9), "%s: %g below the bound %g", n.Notation, load.Most, load.Bound)
		for _, other := range []*lft.Tables{expect.Value(opensm.SSSP(n))(t), expect.Value(opensm.MinHop.Route(n, nil))(t)} {
			expect.True(t, largest(t, other) >= load.Whole*(1-1e-9), "%s, %s: %g below the bound %+v", n.Notation, other.Engine, largest(t, other), load)
		}
		expect.MustTrue(t, load.Bound <= load.Whole*(1+1e-6), "%s: %+v", n.Notation, load)
		if load.Most <= 1.05*load.Whole {
			near++
		}
		for lmc := 1; load.Most > 1.05*load.Bound && lmc <= 3; lmc++ {
			n = expect.Value(n.Numbered(lmc))(t)
			tables, load = minmax.New(n, expect.Value(n.PathBits())(t)).Route(true)
			got := largest(t, tables)
			expect.MustTrue(t, math.Abs(got-load.Most) < 1e-9 && load.Bound <= load.Most*(1+1e-9), "%s, LMC %d: %g messages on the fullest link, %+v", n.Notation, lmc, got, load)
		}
		if load.Most <= 1.05*load.Bound {
			split++
		}
	}
	expect.True(t, 100*near >= 95*all, "%d of %d within 5 %% of the bound of tables", near, all)
	expect.True(t, 100*split >= 95*all, "%d of %d within 5 %% of the bound of routes that split messages", split, all)
}

// TestKnown: where a cut decides, the bound is known in closed form: the messages over it, by its links.
func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		notation string
		bound    float64
	}{
		{"FT(2;4,4)", 12},           // 4 hosts of a leaf, 12 others, 4 links
		{"PGFT(2;6,3;1,2;1,1)", 36}, // 6 hosts, 12 others, 2 links
		{"HyperX(2;5)", 25},         // one cable
		{"Dragonfly(4;8;1;9)", 1024},
		{"FT(1;6)", 0}, // no link between switches
	} {
		n := parsed(t, tt.notation)
		_, load := minmax.New(n, nil).Route(true)
		expect.True(t, math.Abs(load.Bound-tt.bound) <= 0.02*tt.bound && load.Most >= tt.bound-1e-9, "%s: %+v, want %g", tt.notation, load, tt.bound)
	}
}

// TestWhole: on networks of three switches, the least largest load of all tables, by trying all of them, is not
// below the bound, and Route attains it.
func TestWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range expect.Samples(40, 10) {
		var b network.Builder
		hosts := 3 + rng.IntN(4)
		for h := range hosts {
			b.Host(network.Info{Name: fmt.Sprint("h", h), GUID: uint64(100 + h), Port: uint64(200 + h), LID: uint16(1 + h)})
		}
		var at [3]network.Node
		var used [3]uint8
		end := func(s int) network.End {
			used[s]++
			return network.End{Node: at[s], Port: used[s]}
		}
		for s := range at {
			at[s] = b.Switch(network.Info{Name: fmt.Sprint("s", s), GUID: uint64(10 + s), Port: uint64(10 + s), LID: uint16(20 + s)}, 12)
		}
		on := make([]int, hosts)
		for h := range hosts {
			on[h] = rng.IntN(3)
			expect.Must(t, b.Cable(network.End{Node: network.Node(h), Port: 1}, end(on[h])))
		}
		for _, pair := range [][2]int{{0, 1}, {1, 2}, {0, 2}, {0, 1}}[:2+rng.IntN(3)] {
			expect.Must(t, b.Cable(end(pair[0]), end(pair[1])))
		}
		n := b.Build()
		_, load := minmax.New(n, nil).Route(true)
		tables, least := lft.New("all", n), math.Inf(1)
		var try func(h, s int)
		try = func(h, s int) {
			switch {
			case h == hosts:
				if x, ok := arrives(tables); ok {
					least = min(least, x)
				}
				return
			case s == len(at):
				try(h+1, 0)
				return
			case on[h] == s:
				tables.Row(s)[1+h] = n.Leaf(network.Node(h)).Port
				try(h, s+1)
				return
			}
			if n.HostCount(at[s]) == 0 && n.HostCount(at[3-s-on[h]]) == 0 { // it carries nothing
				try(h, s+1)
				return
			}
			for p, far := range n.Ends(at[s]) {
				if far.Node != network.NoNode && !n.IsHost(far.Node) {
					tables.Row(s)[1+h] = uint8(p + 1)
					try(h, s+1)
				}
			}
		}
		try(0, 0)
		expect.MustTrue(t, load.Whole <= least*(1+1e-6) && math.Abs(load.Most-least) < 1e-9, "%d hosts on %v: %+v, and %g by search", hosts, on, load, least)
	}
}

// arrives is the largest load of tables, and whether all messages arrive.
func arrives(tables *lft.Tables) (most float64, ok bool) {
	n, load := tables.Net, map[network.End]float64{}
	for src := range network.Node(n.Hosts()) {
		for dst := range network.Node(n.Hosts()) {
			way, fault := tables.Route(src, int(n.Info(dst).LID))
			if src != dst && fault != lft.NoFault {
				return 0, false
			}
			for i := 0; src != dst && i < len(way)-1; i++ {
				load[way[i]]++
				most = max(most, load[way[i]])
			}
		}
	}
	return most, true
}

// TestLanes: virtual lanes make routes free of deadlock, or there are too few.
func TestLanes(t *testing.T) {
	tables, _ := minmax.New(parsed(t, "Dragonfly(2;4;1;5)"), nil).Route(true)
	expect.True(t, !lft.Deadlock(tables).Free(), "these routes need no lanes")
	expect.Error(t, opensm.WithLanes(tables, 1), "1 virtual lanes are too few")
	tables, _ = minmax.New(parsed(t, "Dragonfly(2;4;1;5)"), nil).Route(true)
	expect.Must(t, opensm.WithLanes(tables, 8))
	expect.True(t, lft.Deadlock(tables).Free(), "a cycle is left")
	for _, tt := range []struct {
		notation string
		lanes    int
		most     float64
	}{
		{"HyperX(3,3;4)", 2, 48},         // the bound: found from another order of destinations
		{"HyperX(4,4;6)", 2, 150},        // annealing needs a third lane
		{"HyperX(4,4;6)", 1, 198},        // up and then down
		{"PGFT(2;12,9;1,8;1,1)", 1, 144}, // the bound: found by annealing
	} {
		tables := expect.Value(engines.Compute(engines.MinMax, parsed(t, tt.notation), engines.Options{Lanes: tt.lanes}))(t)
		got := largest(t, tables)
		expect.True(t, lft.Deadlock(tables).Free() && got <= tt.most, "%s, %d lanes: %g messages on the fullest link, want %g at most, and no deadlock", tt.notation, tt.lanes, got, tt.most)
	}
}

// TestUpDown: routes that go up and then down need no lanes, join all hosts, on trees with one set of top switches as
// evenly as any, and elsewhere more evenly than OpenSM's updn from the same root. A network in two parts has a root in each.
func TestUpDown(t *testing.T) {
	need.Heavy(t)
	for _, tt := range []struct {
		notation string
		even     bool
	}{{"FT(2;4,4)", true}, {"PGFT(3;4,4,4;1,4,4;1,1,1)", true}, {"Dragonfly(2;4;2;9)", false}, {"HyperX(3,4;3)", false}, {"Jellyfish(20;4;2;3)", false}}[:expect.Samples(5, 3)] {
		n := parsed(t, tt.notation)
		tables, load := minmax.New(n, nil).UpDown(nil)
		expect.True(t, largest(t, tables) == load.Most && lft.Deadlock(tables).Free(), "%s: %g messages on the fullest link, stated %g, or a deadlock", tt.notation, largest(t, tables), load.Most)
		if tt.even {
			_, free := minmax.New(n, nil).Route(true)
			expect.True(t, load.Most <= free.Most, "%s: %g messages on the fullest link, %g without the rule", tt.notation, load.Most, free.Most)
			continue
		}
		roots := []network.Node{n.Switch(3)}
		tables, load = minmax.New(n, nil).UpDown(roots)
		updn := largest(t, expect.Value(opensm.UpDown.Route(n, roots))(t))
		expect.True(t, lft.Deadlock(tables).Free() && load.Most < updn, "%s: %g messages on the fullest link, OpenSM's updn %g", tt.notation, load.Most, updn)
	}
	n := parsed(t, "FT(2;2,2)")
	n = expect.Value(n.Degrade([]string{"s1_0-s2_0", "s1_0-s2_1"}))(t)
	tables, _ := minmax.New(n, nil).UpDown(nil)
	_, fault := tables.Route(0, int(n.Info(1).LID))
	expect.Equal(t, fault, lft.NoFault, "the route to a neighbour")
}

// TestParts: hosts that nothing joins have no routes to each other; the others do.
func TestParts(t *testing.T) {
	n := parsed(t, "FT(2;2,2)")
	n = expect.Value(n.Degrade([]string{"s1_0-s2_0", "s1_0-s2_1"}))(t)
	tables, _ := minmax.New(n, nil).Route(true)
	_, fault := tables.Route(0, int(n.Info(2).LID))
	expect.Equal(t, fault, lft.NoEntry, "a route where there is none")
	_, fault = tables.Route(0, int(n.Info(1).LID))
	expect.Equal(t, fault, lft.NoFault, "the route to a neighbour")
}

func BenchmarkRoute(b *testing.B) {
	for _, notation := range []string{"Dragonfly(4;8;1;9)", "HyperX(6,6;4)", "Jellyfish(40;6;6;1)"} {
		b.Run(notation, func(b *testing.B) {
			n := parsed(b, notation)
			for b.Loop() {
				_, load := minmax.New(n, nil).Route(true)
				b.ReportMetric(load.Most/load.Bound, "of-bound")
			}
		})
	}
}
