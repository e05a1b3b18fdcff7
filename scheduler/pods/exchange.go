package pods

import (
	"math/rand/v2"
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
)

// A table is blocks whose phases are perfect matchings of the graph of package phases: each link, and
// each idle node, has one unit, a message or a filler. What two perfect matchings do not share are
// disjoint cycles, of units of one and the other in turn, so the units along a cycle may change phase and
// both stay perfect matchings (Kempe's exchange). So phases whose messages between pods find no top
// switches are mixed with others until they do.
type table struct {
	f        *fattree.Tree
	b        *phases.Blocks
	nodes    int
	linkOf   []int32 // of each node, or none
	node     []int32 // of each link, or none
	from, to []int32 // nodes of each unit
	slot     []int32 // of each unit in the table, or none for a filler
	way      []int32 // of each unit between pods its place in Shared, else none
	podOf    []int32 // of each node that is a link
	out, in  []int32 // unit by phase·nodes + node
	atPlane  [][]int32
	need     []bool // planes that are critical
	cost     []int32
	colorer  coloring.Quick
	degree   [2][]int32 // of pods, out and in
	touched  []int      // planes
	fresh    [2][]int32 // costs of these, in two phases
	random   *rand.Rand
	stamp    []int32
	round    int32
	patience int       // with phases that find no top switches
	rise     int32     // of costs that an exchange may bring, rarely
	class    []int32   // of each node: a leaf has one for its links and one for its other nodes
	alike    [][]int32 // nodes of each class, for a thorough search; else nil
}

func newTable(s *planeSplit, o schedules.Options, thorough bool) *table {
	t := &table{
		f:      s.f,
		b:      phases.NewBlocks(s.f, int(s.split.Ceiling), make([]slots.Slot, s.f.Servers*s.f.Servers)),
		need:   s.f.Critical(),
		random: rand.New(rand.NewPCG(o.Seed, 3)), patience: 16,
	}
	for i, alive := range t.f.Alive {
		if alive {
			t.linkOf = append(t.linkOf, int32(i))
		}
	}
	g := phases.NewLinkGraph(t.b, s.split)
	t.nodes, t.node = int(g.Nodes), g.Node
	for len(t.linkOf) < t.nodes {
		t.linkOf = append(t.linkOf, none)
	}
	t.match(g.Edges, o)
	t.ways()
	t.atPlane = make([][]int32, t.f.Spines)
	for i, l := range t.linkOf {
		if l != none {
			t.atPlane[int(l)%t.f.Spines] = append(t.atPlane[int(l)%t.f.Spines], int32(i))
		}
	}
	t.stamp = make([]int32, t.nodes)
	t.degree = [2][]int32{make([]int32, s.f.Pods), make([]int32, s.f.Pods)}
	t.cost = make([]int32, t.b.Phases*t.f.Spines)
	if thorough {
		t.patience, t.rise = 256, 4
		t.classify()
	}
	return t
}

// classify finds the classes of nodes. Units of nodes that are no links stay within a leaf.
func (t *table) classify() {
	t.class, t.alike = make([]int32, t.nodes), make([][]int32, 2*t.f.Leaves)
	for e, u := range t.from {
		for _, i := range [2][2]int32{{u, t.to[e]}, {t.to[e], u}} {
			if l := t.linkOf[i[0]]; l != none {
				t.class[i[0]] = l / int32(t.f.Spines) * 2
			} else {
				t.class[i[0]] = t.linkOf[i[1]]/int32(t.f.Spines)*2 + 1
			}
		}
	}
	for i, c := range t.class {
		t.alike[c] = append(t.alike[c], int32(i))
	}
}

// match colours all units, fillers too, which makes each phase a perfect matching.
func (t *table) match(edges []coloring.Edge, o schedules.Options) {
	units := t.nodes * t.b.Phases
	t.from, t.to, t.slot = make([]int32, 0, units), make([]int32, 0, units), make([]int32, 0, units)
	for i, e := range edges {
		edges[i].First = int32(len(t.from))
		for j := range e.N {
			t.from, t.to = append(t.from, e.U), append(t.to, e.V)
			if e.First < 0 {
				t.slot = append(t.slot, none)
			} else {
				t.slot = append(t.slot, e.First+j)
			}
		}
	}
	t.out, t.in = make([]int32, units), make([]int32, units)
	(&coloring.Graph{Left: t.nodes, Right: t.nodes, Edges: edges}).Color(t.b.Phases,
		coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)},
		func(unit, color int32) {
			t.out[int(color)*t.nodes+int(t.from[unit])] = unit
			t.in[int(color)*t.nodes+int(t.to[unit])] = unit
		})
}

// ways notes for each unit that is a message between pods its pods and plane, as an index of
// Shared; for others none.
func (t *table) ways() {
	f := t.f
	t.way = make([]int32, len(t.from))
	t.podOf = make([]int32, t.nodes)
	for i, l := range t.linkOf {
		if l != none {
			t.podOf[i] = int32(f.Pod[int(l)/t.f.Spines])
		}
	}
	for e := range t.way {
		t.way[e] = none
		l, m := t.linkOf[t.from[e]], t.linkOf[t.to[e]]
		// Between different leaves both links are of one plane.
		if q, r := t.podOf[t.from[e]], t.podOf[t.to[e]]; l != none && m != none && q != r {
			t.way[e] = int32(f.Between(int(q), int(r), int(l)%t.f.Spines))
		}
	}
}

// excess returns the messages of a phase beyond the top switches of a plane, summed over the pods,
// sent plus received. On each side at least its part stays without a top switch.
func (t *table) excess(p, k int) int32 {
	out, in := t.degree[0], t.degree[1]
	clear(out)
	clear(in)
	for _, u := range t.atPlane[k] {
		if e := t.out[p*t.nodes+int(u)]; t.way[e] != none {
			out[t.podOf[u]]++
			in[t.podOf[t.to[e]]]++
		}
	}
	var e, f int32
	for q := range out {
		c := int32(t.f.TopsOf(q, k))
		e += max(0, out[q]-c)
		f += max(0, in[q]-c)
	}
	return e + f
}

// without colours the messages of a phase with the top switches of a plane and returns how many
// messages stay without one.
func (t *table) without(p, k, steps int) int32 {
	f := t.f
	t.colorer.Start(f.Pods, f.Pods, f.Tops)
	for _, u := range t.atPlane[k] {
		if e := t.out[p*t.nodes+int(u)]; t.way[e] != none {
			t.colorer.Add(int(t.podOf[u]), int(t.podOf[t.to[e]]), f.Shared[t.way[e]])
		}
	}
	return int32(t.colorer.Run(steps))
}

// price is the cost that the search minimises: excess messages or, without these, messages without
// a top switch.
func (t *table) price(p, k int) int32 {
	if e := t.excess(p, k); e > 0 {
		return 1 + 2*e
	}
	return min(1, t.without(p, k, tabuSteps))
}

const tabuSteps = 60 // of a look at one phase and plane

// settle exchanges units between phases until every plane of every phase finds
// its top switches, or nothing helps any more.
func (t *table) settle() {
	for p := range t.b.Phases {
		for k, need := range t.need {
			if need {
				t.cost[p*t.f.Spines+k] = t.price(p, k)
			}
		}
	}
	bad := t.b.Phases * t.f.Spines
	for effort := firstEffort; ; effort *= 2 {
		before := bad
		for k, need := range t.need {
			for p := 0; need && p < t.b.Phases; p++ {
				t.mend(p, k, effort)
			}
		}
		bad = t.bad()
		// A few bad ones deserve a thorough look. Many are a sign that there is no room at all.
		if bad == 0 || bad > before/2 && bad*effort > t.b.Phases*t.patience || effort > lastEffort {
			return
		}
	}
}

// The number of other phases tried for one that does not fit, at first and at last.
const (
	firstEffort = 32
	lastEffort  = 1 << 14
)

// bad returns how many phases and planes do not fit. Repairing one may spoil another.
func (t *table) bad() int {
	n := 0
	for _, c := range t.cost {
		if c > 0 {
			n++
		}
	}
	return n
}

func (t *table) mend(p, k, effort int) {
	for range effort {
		if t.cost[p*t.f.Spines+k] == 0 || t.b.Phases == 1 {
			return
		}
		q := t.random.IntN(t.b.Phases - 1)
		if q >= p {
			q++
		}
		t.mix(p, q, k)
	}
}

// mix exchanges, one after the other, the cycles of two phases that have a message over top
// switches of a plane, and keeps each exchange that does not raise the cost.
func (t *table) mix(p, q, k int) {
	t.loosen(p)
	t.loosen(q)
	t.round++
	for _, u := range t.atPlane[k] {
		if t.stamp[u] == t.round || !t.walk(p, q, u) {
			continue
		}
		before := t.sum(p, q)
		if before == 0 {
			continue
		}
		t.swap(p, q, u)
		after := t.prices(p, q, before+t.rise)
		if after > before+t.rise || after > before && t.random.IntN(50*int(after-before)) > 0 || after == before && t.passedOn(q) {
			t.swap(p, q, u)
			continue
		}
		for i, k := range t.touched {
			t.cost[p*t.f.Spines+k], t.cost[q*t.f.Spines+k] = t.fresh[0][i], t.fresh[1][i]
		}
	}
}

// loosen lets units of a phase that stay within a leaf end at each other's nodes. No message between
// leaves moves, but the cycles are other ones.
func (t *table) loosen(p int) {
	for c, own := range t.alike {
		for range own {
			u, v := own[t.random.IntN(len(own))], own[t.random.IntN(len(own))]
			e, g := t.out[p*t.nodes+int(u)], t.out[p*t.nodes+int(v)]
			if d := t.class[t.to[e]]; d == t.class[t.to[g]] && int(d)/2 == c/2 {
				t.to[e], t.to[g] = t.to[g], t.to[e]
				t.in[p*t.nodes+int(t.to[e])], t.in[p*t.nodes+int(t.to[g])] = e, g
			}
		}
	}
}

// passedOn reports whether a plane touched costs more in phase q than before: the exchange then
// only moved the problem.
func (t *table) passedOn(q int) bool {
	for i, k := range t.touched {
		if t.fresh[1][i] > t.cost[q*t.f.Spines+k] {
			return true
		}
	}
	return false
}

// walk marks the cycle of two phases through a node, notes the critical planes in
// which it has messages over top switches, and reports whether there are any.
func (t *table) walk(p, q int, u int32) bool {
	t.touched = t.touched[:0]
	note := func(e int32) {
		if t.way[e] == none {
			return
		}
		if k := int(t.way[e]) % t.f.Spines; t.need[k] && !slices.Contains(t.touched, k) {
			t.touched = append(t.touched, k)
		}
	}
	for v := u; ; {
		t.stamp[v] = t.round
		e := t.out[p*t.nodes+int(v)]
		f := t.in[q*t.nodes+int(t.to[e])]
		note(e)
		note(f)
		if v = t.from[f]; v == u {
			return len(t.touched) > 0
		}
	}
}

func (t *table) swap(p, q int, u int32) {
	for v := u; ; {
		e, g := t.out[p*t.nodes+int(v)], t.out[q*t.nodes+int(v)]
		w := t.to[e]
		f := t.in[q*t.nodes+int(w)]
		t.out[p*t.nodes+int(v)], t.out[q*t.nodes+int(v)] = g, e
		t.in[p*t.nodes+int(w)], t.in[q*t.nodes+int(w)] = f, e
		if v = t.from[f]; v == u {
			return
		}
	}
}

func (t *table) sum(p, q int) int32 {
	var sum int32
	for _, k := range t.touched {
		sum += t.cost[p*t.f.Spines+k] + t.cost[q*t.f.Spines+k]
	}
	return sum
}

// prices returns the cost of the planes touched in two phases as they are now, exactly up to a
// limit, and stores each in fresh.
func (t *table) prices(p, q int, limit int32) (sum int32) {
	for i, phase := range [2]int{p, q} {
		t.fresh[i] = t.fresh[i][:0]
		for _, k := range t.touched {
			e := t.excess(phase, k)
			t.fresh[i] = append(t.fresh[i], min(2*e, 1)*(1+2*e))
			sum += t.fresh[i][len(t.fresh[i])-1]
		}
	}
	for i, phase := range [2]int{p, q} {
		for j, k := range t.touched {
			if sum > limit {
				return sum
			}
			if t.fresh[i][j] == 0 {
				t.fresh[i][j] = min(1, t.without(phase, k, tabuSteps))
				sum += t.fresh[i][j]
			}
		}
	}
	return sum
}
