package opensm

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// TestShortestIsShortest compares the sets of ports of minhop with tables that
// relax until none changes, as the original's do.
func TestShortestIsShortest(t *testing.T) {
	for seed := range few(50) {
		v := newView(degrade(t, seed, 0).net)
		h, slow := v.shortest(), relax(v)
		for _, s := range v.order {
			for _, to := range v.order {
				for p := range v.peers(s) {
					fast := h.set(s, to)[p/64]>>(p%64)&1 == 1
					if want := s != to && slow[s][to][p+1] == slow[s][to][0] && slow[s][to][0] != noPath; fast != want {
						t.Fatalf("seed %d: %s port %d to %s: %v, want %v", seed, v.name(s), p+1, v.name(to), fast, want)
					}
				}
			}
		}
	}
}

// relax returns hops[from][to][port], the least at port 0.
func relax(v *view) [][][]uint8 {
	hops := make([][][]uint8, len(v.seen))
	for s := range hops {
		hops[s] = make([][]uint8, len(v.seen))
		for to := range hops[s] {
			hops[s][to] = make([]uint8, 1+len(v.peers(int32(s))))
			for p := range hops[s][to] {
				hops[s][to][p] = noPath
			}
		}
		hops[s][s][0] = 0
	}
	for changed := true; changed; {
		changed = false
		for _, s := range v.order {
			for p, q := range v.peers(s) {
				for to := range hops {
					if q == none || hops[q][to][0] == noPath {
						continue
					}
					if mine, far := hops[s][to], hops[q][to][0]+1; far < mine[p+1] {
						mine[p+1], mine[0], changed = far, min(mine[0], far), true
					}
				}
			}
		}
	}
	return hops
}

// TestUpDownIsLegal follows all routes of updn: none goes up after down.
func TestUpDownIsLegal(t *testing.T) {
	for seed := range few(30) {
		d := degrade(t, seed, 0)
		tables := expect.Value(UpDown.Route(d.net, d.roots))(t)
		v := newView(d.net)
		rank := v.ranks(v.visible(d.roots))
		for _, s := range v.order {
			for to := range network.Node(d.net.Hosts()) {
				if !climbsFirst(v, rank, tables, s, to) {
					t.Fatalf("seed %d: %s to %s", seed, v.name(s), d.net.Info(to).Name)
				}
			}
		}
	}
}

func climbsFirst(v *view, rank []int32, tables *lft.Tables, s int32, to network.Node) bool {
	down := false
	for range 64 {
		port := tables.Row(int(s))[v.net.Info(to).LID]
		if port == lft.NoPort {
			return true
		}
		next := v.net.At(v.net.Switch(int(s)), int(port)).Node
		if v.net.IsHost(next) || next == network.NoNode {
			return next == to
		}
		n := int32(v.net.Index(next))
		if rank[n] < rank[s] && down {
			return false
		}
		down = down || rank[n] > rank[s]
		s = n
	}
	return false
}

// TestFtreeOrMinHop tells what is not a fat tree, and falls back.
func TestFtreeOrMinHop(t *testing.T) {
	g := network.PGFT{M: []int{4, 4, 4}, W: []int{1, 4, 4}, P: []int{1, 1, 1}}
	n := build(t, g, 0)
	leaf, spine := n.Switch(0), n.Switch(16)
	for _, c := range []struct {
		name  string
		net   *network.Network
		roots []network.Node
		want  string // "" is a fat tree
	}{
		{"whole", n, nil, ""},
		{"hosts missing", without(t, n, network.End{Node: 3, Port: 1}, network.End{Node: 9, Port: 1}), nil, ""},
		{"a root missing", without(t, n, network.End{Node: n.Switch(40)}), nil, "AB09"},
		{"a cable of a leaf", without(t, n, network.End{Node: leaf, Port: 5}), nil, "AB09"},
		{"the same, with roots", without(t, n, network.End{Node: leaf, Port: 5}), top(n, g), ""},
		{"a cable down", without(t, n, network.End{Node: spine, Port: 1}), top(n, g), ""},
		{"roots that are not there", n, []network.Node{3}, ""},
		{"leaves as roots", n, []network.Node{leaf}, "AB26"},
		{"LMC", build(t, g, 2), top(n, g), "LMC"},
		{"one switch", build(t, network.PGFT{M: []int{4}, W: []int{1}, P: []int{1}}, 0), nil, "1 switches"},
		{"hosts at one leaf", build(t, network.PGFT{M: []int{4, 1}, W: []int{1, 2}, P: []int{1, 1}}, 0), nil, "all hosts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Ftree(c.net, c.roots)
			expect.MustFalse(t, (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want), "%v, want %q", err, c.want)
			expect.False(t, err != nil && !errors.Is(err, errNotFatTree), "%v does not wrap ErrNotFatTree", err)
			engine := "ftree"
			if c.want != "" {
				engine = "minhop"
			}
			expect.Equal(t, ftreeMinHop(c.net, c.roots).Engine, engine, "ftreeMinHop")
		})
	}
}

// TestStickyMoves counts what one lost cable moves on FT(2;20,18): 54 of 13,680
// entries of hosts when OpenSM runs, 717 when it starts anew, 6,140 with ftree.
func TestStickyMoves(t *testing.T) {
	g := references["ft2_20_18"]
	n := build(t, g, 0)
	less := without(t, n, network.End{Node: n.Switch(0), Port: 21})
	before := minHop(n)
	tree := expect.Value(Ftree(n, top(n, g)))(t)
	sparse := expect.Value(Ftree(less, top(n, g)))(t)
	for _, c := range []struct {
		name      string
		old, now  *lft.Tables
		entries   int
		unchanged bool
	}{
		{name: "running", old: before, now: minHopAfter(less, before), entries: 54},
		{name: "started anew", old: before, now: minHop(less), entries: 717},
		{name: "ftree", old: tree, now: sparse, entries: 6140},
		{name: "plugged in again", old: before, now: minHopAfter(n, minHopAfter(less, before)), entries: 0},
	} {
		moved := 0
		for s := range n.Switches() {
			for lid := 1; lid <= n.Hosts(); lid++ {
				if c.old.Row(s)[lid] != c.now.Row(s)[lid] {
					moved++
				}
			}
		}
		expect.Equal(t, moved, c.entries, "%s: entries moved", c.name)
	}
}

// TestDice compares with the numbers that the GNU library's random gives.
func TestDice(t *testing.T) {
	for seed, want := range map[uint32][]uint32{
		1: {1804289383, 846930886, 1681692777, 1714636915},
		0: {1804289383, 846930886}, // 0 is 1
	} {
		d := newDice(seed)
		for i, w := range want {
			expect.Equal(t, d.roll(), w, "seed %d: number %d", seed, i)
		}
	}
}

// TestHardlyNetworks routes what is hardly a network.
func TestHardlyNetworks(t *testing.T) {
	var empty, hosts, loose, ring network.Builder
	hosts.Host(network.Info{Name: "a", GUID: 1, Port: 2, LID: 1})
	hosts.Host(network.Info{Name: "b", GUID: 3, Port: 4, LID: 2})
	plug(t, &hosts, network.End{Node: 0, Port: 1}, network.End{Node: 1, Port: 1})
	loose.Host(network.Info{Name: "a", GUID: 1, Port: 2, LID: 1})
	loose.Switch(network.Info{Name: "s", GUID: 5, Port: 5, LID: 3}, 4)
	plug(t, &loose, network.End{Node: 1, Port: 1}, network.End{Node: 1, Port: 2}) // leads to itself
	for h := range 2 {
		ring.Host(network.Info{Name: string(rune('a' + h)), GUID: uint64(9000 + 2*h), Port: uint64(9001 + 2*h), LID: uint16(h + 1)})
	}
	const size = 700 // more hops than a byte counts
	for s := range size {
		ring.Switch(network.Info{Name: "s", GUID: uint64(s + 1), Port: uint64(s + 1), LID: uint16(10 + s)}, 3)
	}
	for s := range size {
		plug(t, &ring, network.End{Node: network.Node(2 + s), Port: 1}, network.End{Node: network.Node(2 + (s+1)%size), Port: 2})
	}
	plug(t, &ring, network.End{Node: 0, Port: 1}, network.End{Node: 2, Port: 3})
	plug(t, &ring, network.End{Node: 1, Port: 1}, network.End{Node: 4, Port: 3})
	for name, b := range map[string]*network.Builder{"empty": &empty, "two hosts": &hosts, "loose": &loose, "ring": &ring} {
		n := b.Build()
		tables := []*lft.Tables{minHop(n), anew(DownUp, n), ftreeMinHop(n, nil), minHopAfter(n, minHop(n))}
		if n.Switches() > 0 {
			all := make([]network.Node, n.Switches())
			for i := range all {
				all[i] = n.Switch(i)
			}
			tables = append(tables, ftreeMinHop(n, all), ftreeMinHop(n, all[:1]))
			if up, err := UpDown.Route(n, all[:1]); err == nil {
				tables = append(tables, up)
			}
		}
		for _, tb := range tables {
			expect.True(t, tb != nil && tb.Net == n, "%s: no tables", name)
		}
	}
}

func plug(t *testing.T, b *network.Builder, x, y network.End) {
	t.Helper()
	expect.Must(t, b.Cable(x, y))
}

// TestRandomNetworks routes graphs that are no trees: what minhop joins, it
// joins both ways, and all engines return.
func TestRandomNetworks(t *testing.T) {
	for seed := range 40 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		var b network.Builder
		hosts, switches := 6, 8
		for i := range hosts + switches {
			info := network.Info{Name: "n", GUID: r.Uint64(), LID: uint16(i + 1)}
			if info.Port = info.GUID; i < hosts {
				info.Port++
				b.Host(info)
			} else {
				b.Switch(info, 12)
			}
		}
		for h := range hosts {
			_ = b.Cable(network.End{Node: network.Node(h), Port: 1}, network.End{Node: network.Node(hosts + r.IntN(switches)), Port: uint8(1 + r.IntN(12))})
		}
		for range 20 {
			x := network.End{Node: network.Node(hosts + r.IntN(switches)), Port: uint8(1 + r.IntN(12))}
			_ = b.Cable(x, network.End{Node: network.Node(hosts + r.IntN(switches)), Port: uint8(1 + r.IntN(12))}) // taken ports stay as they are
		}
		n := b.Build()
		v, tables := newView(n), minHop(n)
		rank := make([]int32, len(v.seen)) // any step is legal
		for _, s := range v.order {
			for _, from := range v.loaded {
				for _, h := range v.hosts[from] {
					expect.True(t, tables.Row(int(s))[n.Info(h).LID] != lft.NoPort && climbsFirst(v, rank, tables, s, h),
						"seed %d: %d does not reach %d", seed, s, h)
				}
			}
		}
		ftreeMinHop(n, []network.Node{n.Switch(0)})
		anew(DownUp, n)
		if _, err := UpDown.Route(n, nil); err != nil && !errors.Is(err, errNoRoots) {
			t.Error(err)
		}
	}
}

// ftreeMinHop is Ftree, or MinHop where that fails: OpenSM's engine list "ftree,minhop".
func ftreeMinHop(n *network.Network, roots []network.Node) *lft.Tables {
	if t, err := Ftree(n, roots); err == nil {
		return t
	}
	return minHop(n)
}

func minHop(n *network.Network) *lft.Tables { return anew(MinHop, n) }

// anew is Route of an engine that routes all networks.
func anew(e Engine, n *network.Network) *lft.Tables {
	t, err := e.Route(n, nil)
	if err != nil {
		panic(err)
	}
	return t
}

func minHopAfter(n *network.Network, prev *lft.Tables) *lft.Tables {
	t, err := MinHop.After(n, nil, prev)
	if err != nil {
		panic(err)
	}
	return t
}
