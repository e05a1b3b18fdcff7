package closed

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// grid calls f for all PGFTs of 1 to 3 levels with small numbers.
func grid(f func(g network.PGFT)) {
	small := []int{1, 2, 3}
	for _, m1 := range small {
		f(network.PGFT{M: []int{m1}, W: []int{1}, P: []int{1}})
		for _, m2 := range small {
			for _, w2 := range small {
				for _, p2 := range small {
					f(network.PGFT{M: []int{m1, m2}, W: []int{1, w2}, P: []int{1, p2}})
					for i := range 27 {
						f(network.PGFT{M: []int{m1, m2, small[i/9]}, W: []int{1, w2, small[i/3%3]}, P: []int{1, p2, small[i%3]}})
					}
				}
			}
		}
	}
}

func same(a, b *lft.Tables) (s int, ok bool) {
	for s := range a.Net.Switches() {
		if !bytes.Equal(a.Row(s), b.Row(s)) {
			return s, false
		}
	}
	return 0, true
}

func TestDmodcIsDmodk(t *testing.T) {
	count := 0
	check := func(g network.PGFT) {
		count++
		n := build(t, g)
		want := expect.Value(Dmodk(n))(t)
		for _, down := range []bool{false, true} {
			got := expect.Value(Dmodc(n, Options{DownCost: down}))(t)
			if s, ok := same(got, want); !ok {
				t.Fatalf("%s: %s has\n%v, not\n%v", g, n.Info(n.Switch(s)).Name, got.Row(s), want.Row(s))
			}
		}
	}
	grid(check)
	for _, g := range balanced {
		check(g)
	}
	expect.True(t, count >= 2000, "only %d trees", count)
}

// The formula word for word, for one host at a time.
func TestDmodkFormula(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := randomPGFT(rng)
		n := relabel(build(t, g), rng, int(seed%3))
		tables := expect.Value(Dmodk(n))(t)
		w := 1
		first := 0
		below := 1
		for l := 1; l <= len(g.M); l++ {
			w, below = w*g.W[l-1], below*g.M[l-1]
			count := w * n.Hosts() / below
			for i := range count {
				for h := range n.Hosts() {
					for x := range 1 << n.Info(network.Node(h)).LMC {
						d, port := h+x, 0
						if h/below == i/w {
							port = 1 + h/(below/g.M[l-1])%g.M[l-1]*g.P[l-1] + d/w%g.P[l-1]
						} else {
							q := d / w % (g.W[l] * g.P[l])
							port = 1 + g.M[l-1]*g.P[l-1] + q%g.W[l]*g.P[l] + q/g.W[l]
						}
						got := tables.Port(n.Switch(first+i), int(n.Info(network.Node(h)).LID)+x)
						expect.MustTrue(t, int(got) == port, "%s: switch %d of level %d, h%d +%d: port %d, not %d", g, i, l, h, x, got, port)
					}
				}
			}
			first += count
		}
	}
}

// balanced have as many cables up as down below the top: 2 to 4 levels, p > 1 at
// any.
var balanced = []network.PGFT{
	{M: []int{4, 8}, W: []int{1, 4}, P: []int{1, 1}},
	{M: []int{4, 6}, W: []int{1, 2}, P: []int{1, 2}},
	{M: []int{12, 5}, W: []int{1, 3}, P: []int{1, 4}},
	{M: []int{20, 18}, W: []int{1, 20}, P: []int{1, 1}},
	{M: []int{4, 4, 4}, W: []int{1, 4, 4}, P: []int{1, 1, 1}},
	{M: []int{4, 2, 8}, W: []int{1, 2, 4}, P: []int{1, 2, 1}},
	{M: []int{6, 3, 7}, W: []int{1, 3, 3}, P: []int{1, 2, 2}},
	{M: []int{8, 4, 6}, W: []int{1, 4, 2}, P: []int{1, 2, 4}},
	{M: []int{5, 5, 3}, W: []int{1, 1, 5}, P: []int{1, 5, 5}},
	{M: []int{4, 2, 4, 4}, W: []int{1, 2, 4, 4}, P: []int{1, 2, 1, 1}},
	{M: []int{6, 2, 4, 4}, W: []int{1, 2, 2, 3}, P: []int{1, 3, 3, 4}},
	{M: []int{3, 3, 3, 3}, W: []int{1, 3, 3, 3}, P: []int{1, 1, 1, 1}},
	{M: []int{18, 9, 12}, W: []int{1, 9, 18}, P: []int{1, 2, 1}},
	{M: []int{18, 3, 18, 4}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}},
}

func TestNoContention(t *testing.T) {
	for _, g := range balanced {
		t.Run(g.String(), func(t *testing.T) {
			tables := expect.Value(Dmodk(build(t, g)))(t)
			most, err := mostOfShifts(tables)
			expect.True(t, err == nil && most == 1, "%d paths on a cable, %v", most, err)
		})
	}
}

func TestDmodkRefuses(t *testing.T) {
	g := network.PGFT{M: []int{2, 3}, W: []int{1, 2}, P: []int{1, 2}}
	n := build(t, g)
	less := func(node network.Node, port uint8) *network.Network {
		return without(n, nil, func(a, _ network.End) bool { return a == network.End{Node: node, Port: port} })
	}
	for _, c := range []struct {
		name string
		n    *network.Network
		want string
	}{
		{"cable", less(n.Switch(1), 4), "port 4 of s1_1 has no cable: in a whole PGFT(2;2,3;1,2;1,2) it leads to port 4 of s2_0 (dmodc"},
		{"host", less(3, 1), "port 1 of h3 has no cable"},
		{"whole", n, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Dmodk(c.n); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestDmodcRefuses(t *testing.T) {
	n := build(t, network.PGFT{M: []int{2, 3}, W: []int{1, 2}, P: []int{1, 1}})
	s := n.Switch(1)
	parted := without(n, nil, func(a, _ network.End) bool { return a.Node == s })
	for _, c := range []struct {
		name string
		n    *network.Network
		o    Options
		want string
	}{
		{"parted", parted, Options{}, "joins leaves s1_0 and s1_1, nor 1 other pairs of the 3 leaves"},
		{"high rank", n, Options{Ranks: []int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 900}}, "s2_1 has rank 900"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Error(t, expect.Err(Dmodc(c.n, c.o)), c.want)
		})
	}
	tables := expect.Value(Dmodc(parted, Options{Partial: true}))(t)
	w := walkAll(tables, byHops(parted))
	expect.True(t, w.Lost == 8 && w.Looped == 0, "%s", w)
}

// On degraded PGFTs all hosts are reached, up and then down, or the tree is refused.
func TestDmodcReaches(t *testing.T) {
	refused, routed := 0, 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := relabel(degrade(build(t, randomPGFT(rng)), rng, rng.Float64()*0.5), rng, int(seed%2))
		tables, err := Dmodc(n, Options{})
		if err != nil {
			refused++
			continue
		}
		routed++
		w := walkAll(tables, byHops(n))
		expect.True(t, w.Lost+w.Looped <= 0, "seed %d: %s", seed, w)
	}
	expect.True(t, refused >= 5 && routed >= 20, "%d refused, %d routed: too few of one", refused, routed)
}

// Figure 4: Π = 4, d = 20, groups of three ports: the second group, its last port.
func TestFigure4(t *testing.T) {
	row := costRow{chosen: []group{{ports: []uint8{1, 2, 3}}, {ports: []uint8{4, 5, 6}}}}
	got := row.port(20 / 4)
	expect.True(t, got == 6, "port %d, not 6", got)
}

// Figure 3, step 2 and 4: a switch keeps the largest product below it, as in the
// whole network, though others below it lost cables.
//
//gate:race
func TestDividers(t *testing.T) {
	g := network.PGFT{M: []int{2, 3, 3}, W: []int{1, 3, 2}, P: []int{1, 1, 1}}
	n := build(t, g)
	less := without(n, nil, func(a, _ network.End) bool { return a == network.End{Node: n.Switch(0), Port: 3} })
	for _, net := range []*network.Network{n, less} {
		r := expect.Value(newRouter(net, Options{}))(t)
		expect.True(t, r.divider[0] == 1 && r.divider[10] == 3 && r.divider[net.Switches()-1] == 6, "dividers %v", r.divider)
	}
}

// Whatever is cabled to whatever, costs fall and no route loops.
func TestAnyNetwork(t *testing.T) {
	expect.OK(t, expect.Err(Dmodc(new(network.Builder).Build(), Options{})))
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := anything(rng)
		for _, down := range []bool{false, true} {
			tables := expect.Value(Dmodc(n, Options{Partial: true, DownCost: down}))(t)
			w := walkAll(tables, byHops(n))
			expect.MustFalse(t, w.Looped > 0 || down && w.UpDown > 0, "seed %d: %s", seed, w)
		}
	}
}

// anything draws nodes and cables without sense: hosts at hosts, loops, parallel
// cables, equal GUIDs, no LIDs.
func anything(rng *rand.Rand) *network.Network {
	var b network.Builder
	hosts, switches := rng.IntN(12), rng.IntN(12)
	for v := range hosts + switches {
		i := network.Info{Name: "n", GUID: uint64(rng.IntN(6)), LID: uint16(v)} // the first has none
		if v < hosts {
			b.Host(i)
		} else {
			b.Switch(i, 1+rng.IntN(9))
		}
	}
	for range rng.IntN(80) {
		end := func() network.End {
			return network.End{Node: network.Node(rng.IntN(hosts + switches + 1)), Port: uint8(rng.IntN(10))}
		}
		_ = b.Cable(end(), end()) // what does not fit is left out
	}
	return b.Build()
}
