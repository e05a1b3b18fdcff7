package uneven

import (
	"cmp"
	"math"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// A tabling is a search for a table of leaves and phases that can be lifted: slow phases hold the messages of slow
// hosts, in quick ones a leaf has no more messages than other hosts, and further ones hold none. Messages change
// phases and paths as in a gathering, but their hosts do not count.
type tabling struct {
	*gathering
	kind   []int    // of each phase: slow, quick or further
	most   [3][]int // messages of a leaf, by kind
	need   []int    // messages that slow hosts of two leaves have, by leaf and leaf
	has    []int    // those in slow phases
	load   [2][]int // messages by phase and leaf that leave it, and that enter it
	weight []int    // of the cost of a phase
	cost   int
	part   [][]int32 // of two phases, what is joined by wires
}

// tabled returns the best schedule that a search for a choice finds, or nil.
func tabled(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, c choice, seed uint64) (best *scheduler.Schedule) {
	g := newTabling(s, t, r, c)
	took, lifts := math.Inf(1), uint64(0)
	least := g.cost
	for work := 0; work < tableWork && lifts < tableLifts && took > c.time+1e-9; {
		if g.cost == 0 || g.cost < least {
			if x := lifted(scheduler.FromMessages(s.Name, t, true, slices.Values(g.messages())), t, r, lifts+seed<<32, g.kind); x != nil && Time(x, t, r) < took {
				best, took = x, Time(x, t, r)
			}
			if least = g.cost; least == 0 {
				lifts++
			}
		}
		for range 10 {
			work += g.turn()
		}
	}
	return best
}

// The kinds of phases.
const (
	isSlow = iota
	isQuick
	isFurther
)

func newTabling(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, c choice) *tabling {
	leaves := t.Leaves()
	g := &tabling{gathering: newGathering(s, t, r, max(c.phases, s.Phases)), need: make([]int, leaves*leaves), has: make([]int, leaves*leaves)}
	g.loose, g.kind = true, make([]int, len(g.in))
	own := make([]int, leaves)
	for _, h := range r.Hosts {
		own[g.leaf[h.Rank]]++
	}
	for a := range own {
		g.most[isSlow], g.most[isQuick], g.most[isFurther] = append(g.most[isSlow], t.On(a)), append(g.most[isQuick], t.On(a)-own[a]), append(g.most[isFurther], 0)
		for b := range own {
			if a != b {
				g.need[a*leaves+b] = own[a]*t.On(b) + own[b]*t.On(a) - own[a]*own[b]
				g.cost += g.need[a*leaves+b]
			}
		}
	}
	order, slow := make([]int, len(g.in)), make([]int, len(g.in)) // phases, those of slow hosts first
	for p, in := range g.in {
		order[p] = p
		g.in[p] = slices.DeleteFunc(in, func(i int32) bool { return g.all[i].Spine == scheduler.None })
		for _, i := range g.in[p] {
			slow[p] += own[g.leaf[g.all[i].Src]] + own[g.leaf[g.all[i].Dst]]
		}
	}
	slices.SortStableFunc(order, func(p, q int) int {
		return cmp.Or(cmp.Compare(slow[q], slow[p]), cmp.Compare(len(g.in[q]), len(g.in[p])))
	})
	g.weight = slices.Repeat([]int{1}, len(g.in))
	for i, p := range order {
		if i >= c.phases {
			g.kind[p], g.weight[p] = isFurther, 1+i-c.phases
		} else if i >= c.slow {
			g.kind[p] = isQuick
		}
	}
	for side := range g.load {
		g.load[side] = make([]int, len(g.in)*leaves)
	}
	for p, in := range g.in {
		for _, i := range in {
			g.put(i, p, 1)
		}
	}
	return g
}

// put adds a message to a phase, or takes it away, with its cost: messages of a leaf beyond those that a phase may have,
// and those of slow hosts that slow phases lack.
func (g *tabling) put(i int32, p, sign int) {
	m, kind := g.all[i], g.kind[p]
	ends := [2]int{g.leaf[m.Src], g.leaf[m.Dst]}
	if kind == isSlow {
		at := ends[0]*g.t.Leaves() + ends[1]
		g.cost -= max(0, g.need[at]-g.has[at])
		g.has[at] += sign
		g.cost += max(0, g.need[at]-g.has[at])
	}
	for side, a := range ends {
		n := &g.load[side][p*g.t.Leaves()+a]
		g.cost -= g.weight[p] * max(0, *n-g.most[kind][a])
		*n += sign
		g.cost += g.weight[p] * max(0, *n-g.most[kind][a])
	}
}

// turn lets two phases exchange what is joined by shared wires: where that lowers the cost, often where it keeps it and
// rarely where it raises it. It returns how many messages they have.
func (g *tabling) turn() int {
	a, b := g.random.IntN(len(g.in)), g.random.IntN(len(g.in))
	if a == b {
		return 1
	}
	g.reroute(a)
	g.reroute(b)
	both, n, root := g.joined(a, b)
	for len(g.part) < len(both) {
		g.part = append(g.part, nil)
	}
	for i := range both {
		k := root(int32(i))
		g.part[k] = append(g.part[k], int32(i))
	}
	swap := func(own []int32, sign int) {
		for _, i := range own {
			from, to := a, b
			if int(i) >= n {
				from, to = b, a
			}
			g.put(both[i], from, -sign)
			g.put(both[i], to, sign)
		}
	}
	var in [2][]int32
	for k, own := range g.part[:len(both)] {
		before, other := g.cost, 1
		swap(own, 1)
		if d := g.cost - before; d > 0 && g.random.IntN(400) >= 8>>(2*d) || d == 0 && g.random.IntN(2) == 0 {
			swap(own, -1)
			other = 0
		}
		for _, i := range own {
			side := other
			if int(i) >= n {
				side = 1 - other
			}
			in[side] = append(in[side], both[i])
		}
		g.part[k] = own[:0]
	}
	g.in[a], g.in[b] = in[0], in[1]
	return len(both)
}
