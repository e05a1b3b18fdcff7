package network_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/site/engines/minmax"
	"evbench/site/network"
	"evbench/testing/expect"
)

// On random trees of three levels whose cables carry 1 to 4 messages, no cable carries more in a phase. Where the tree
// is exact its bound is that of a linear program over the network, elsewhere the bound of all routes is; plans are at
// the bound, but 3 of 600, one phase above.
func TestStackCapacities(t *testing.T) {
	exact, above, all := 0, 0, expect.Samples(150, 15)
	for seed := range uint64(all) {
		rng := rand.New(rand.NewPCG(seed, 4))
		form := fmt.Sprintf("PGFT(3;%d,%d,%d;1,%d,%d;1,%d,%d)", 1+rng.IntN(4), 1+rng.IntN(3), 2+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2))
		n, _ := shuffled(t, build(t, form), seed)
		low, high, mixed := float64(1+rng.IntN(4)), float64(1+rng.IntN(4)), rng.IntN(3) == 0
		cables := n.SwitchCables()
		n = rated(n, 100e9, func(i int) float64 {
			switch c := cables[i]; {
			case mixed:
				return 100e9 * float64(1+rng.IntN(4))
			case n.HostCount(c.A.Node)+n.HostCount(c.B.Node) > 0:
				return 100e9 * low
			}
			return 100e9 * high
		})
		what := fmt.Sprintf("seed %d: %s × %g, %g, mixed %t", seed, form, low, high, mixed)
		p, err := network.Spineless(n)
		expect.MustTrue(t, err == nil, "%s: %v", what, err)
		s, bound, err := scheduler.FORS(p.Tree, scheduler.Options{})
		expect.MustTrue(t, err == nil, "%s: %v", what, err)
		fits(t, n, p, s, what)
		least := leastLoad(n)
		phases := max(n.Hosts()-1, int(math.Ceil(least-1e-6)))
		proven := minmax.OfTree(p, p.Tree)
		expect.MustTrue(t, proven <= least+1e-6 && max(n.Hosts()-1, int(math.Ceil(proven-1e-6))) == phases, "%s: bound %g, linear program %g", what, proven, least)
		if p.Exact(&p.Tree.Live) {
			exact++
			expect.MustTrue(t, bound.Phases == phases && s.Phases == phases, "%s: %d phases, bound %d, linear program %g", what, s.Phases, bound.Phases, least)
		}
		expect.MustTrue(t, s.Phases <= phases+1, "%s: %d phases for %d", what, s.Phases, phases)
		if s.Phases > phases {
			above++
		}
	}
	expect.True(t, exact >= expect.Samples(40, 2) && above == 0, "%d exact trees; %d of %d plans are above the bound", exact, above, all)
}

// Two switches of each pod and two top switches, all joined but for one pair, by cables that are alike: planes differ
// in shape, and no cable carries more messages than another.
func TestInexactMesh(t *testing.T) {
	var b network.Builder
	var hosts, leaves, middles []network.Node
	for i := range 8 {
		hosts = append(hosts, b.Host(network.Info{Name: fmt.Sprint("h", i), LID: uint16(1 + i)}))
	}
	for i := range 4 {
		leaves = append(leaves, b.Switch(network.Info{Name: fmt.Sprint("leaf", i), LID: uint16(20 + i)}, 4))
	}
	for i := range 4 {
		middles = append(middles, b.Switch(network.Info{Name: fmt.Sprint("middle", i), LID: uint16(30 + i)}, 4))
	}
	tops := []network.Node{b.Switch(network.Info{Name: "top0", LID: 40}, 4), b.Switch(network.Info{Name: "top1", LID: 41}, 4)}
	join := func(low, high network.Node, up, down int) {
		expect.Must(t, b.Cable(network.End{Node: low, Port: uint8(up)}, network.End{Node: high, Port: uint8(down)}))
	}
	for i, h := range hosts {
		join(h, leaves[i/2], 1, 1+i%2)
	}
	for i, l := range leaves {
		for j := range 2 {
			join(l, middles[i/2*2+j], 3+j, 1+i%2)
		}
	}
	for i, m := range middles {
		for j, top := range tops {
			if i+j < 4 { // all but middle3 to top1
				join(m, top, 3+j, 1+i)
			}
		}
	}
	p := expect.Value(network.Spineless(b.Build()))(t)
	expect.True(t, !p.Exact(&p.Tree.Live) && p.Inexact() == "in which planes with the same top switches differ in shape", "%t: %s", p.Exact(&p.Tree.Live), p.Inexact())
}

// leastLoad is the least largest load of routes up and down a tree, split at will: a linear program over all of them,
// solved by the simplex method (Bland's rule).
func leastLoad(n *network.Network) float64 {
	type pair struct{ a, b network.Node }
	up := map[network.Node][]network.Cable{} // by lower switch, both ways found by level
	level := map[network.Node]int{}
	for i := range n.Switches() {
		level[n.Switch(i)] = 3
		if n.HostCount(n.Switch(i)) > 0 {
			level[n.Switch(i)] = 1
		}
	}
	cables := n.SwitchCables()
	for _, c := range cables {
		if level[c.A.Node] == 1 {
			level[c.B.Node] = 2
		} else if level[c.B.Node] == 1 {
			level[c.A.Node] = 2
		}
	}
	for _, c := range cables {
		if level[c.A.Node] > level[c.B.Node] {
			c.A, c.B = c.B, c.A
		}
		up[c.A.Node] = append(up[c.A.Node], c)
	}
	room := map[network.End]int{} // rows, by sending end
	var rhs []float64
	row := func(e network.End) int {
		r, ok := room[e]
		if !ok {
			r = len(rhs)
			room[e] = r
			rhs = append(rhs, n.Rate(e)/100e9)
		}
		return r
	}
	var columns [][]int // rows of links of a path
	var owner []pair
	var leaves []network.Node
	for v, l := range level {
		if l == 1 {
			leaves = append(leaves, v)
		}
	}
	for _, a := range leaves {
		for _, b := range leaves {
			if a == b {
				continue
			}
			for _, c := range up[a] {
				for _, d := range up[b] {
					if c.B.Node == d.B.Node {
						columns = append(columns, []int{row(c.A), row(d.B)})
						owner = append(owner, pair{a, b})
					}
					for _, e := range up[c.B.Node] {
						for _, f := range up[d.B.Node] {
							if e.B.Node == f.B.Node && c.B.Node != d.B.Node {
								columns = append(columns, []int{row(c.A), row(e.A), row(f.B), row(d.B)})
								owner = append(owner, pair{a, b})
							}
						}
					}
				}
			}
		}
	}
	links := len(rhs)
	pairs := map[pair]int{}
	for _, o := range owner {
		if _, ok := pairs[o]; !ok {
			pairs[o] = links + len(pairs)
		}
	}
	rows := links + len(pairs)
	vars := len(columns) + 1
	a := make([][]float64, rows+1)
	for i := range a {
		a[i] = make([]float64, vars+rows+1)
		if i < rows {
			a[i][vars+i] = 1
		}
		if i < links {
			a[i][vars+rows] = rhs[i]
		}
	}
	for j, c := range columns {
		for _, r := range c {
			a[r][j]++
		}
		a[pairs[owner[j]]][j] = -1
	}
	for p, r := range pairs {
		a[r][vars-1] = float64(n.HostCount(p.a) * n.HostCount(p.b))
	}
	a[rows][vars-1] = -1
	for {
		j := -1
		for k := range vars + rows {
			if a[rows][k] < -1e-9 {
				j = k
				break
			}
		}
		if j < 0 {
			break
		}
		at, best := -1, math.Inf(1)
		for i := range rows {
			if a[i][j] > 1e-9 && a[i][vars+rows]/a[i][j] < best-1e-12 {
				at, best = i, a[i][vars+rows]/a[i][j]
			}
		}
		if at < 0 {
			return 0
		}
		x := a[at][j]
		for k := range a[at] {
			a[at][k] /= x
		}
		for i := range a {
			if f := a[i][j]; i != at && f != 0 {
				for k := range a[i] {
					a[i][k] -= f * a[at][k]
				}
			}
		}
	}
	return 1 / a[rows][vars+rows]
}
