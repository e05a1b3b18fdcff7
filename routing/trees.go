// Package routing answers: which next hop does each switch of a tree take for each destination, with
// a given routing engine?
//
// It holds the rules that plans use on trees (TreeTables), the tables, and checks of them: reach,
// loops, dead links, link loads. Other engines register themselves, as drivers do with
// database/sql: site/engines has those for networks of any shape.
package routing

import (
	"fmt"
	"iter"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// The engines that plans use on trees, by their names on the command line.
const (
	Ftree  = "ftree"  // spine = destination rank mod spines; plans have OpenSM's, equal on whole trees
	MinHop = "minhop" // broken entries to the least used live spine, ties to the lowest
	Spread = "spread" // the same, ties rotated by source leaf
	ECMP   = "ecmp"   // every live spine, the kernel hashes
	Spray  = "spray"  // every live spine, drawn for each packet
	// Adaptive also has every live spine: each packet takes the one with the most free credit, in
	// lossless networks only.
	Adaptive = "adaptive"
	Pinned   = "pinned" // the plan's own paths, one per message
)

func TreeEngines() []string { return []string{Ftree, MinHop, Spread, ECMP, Spray, Adaptive} }

// PerPacket reports whether switches choose a path for each packet under an engine, so that
// packets of a message take several, and overtake each other.
func PerPacket(engine string) bool { return engine == Spray || engine == Adaptive }

// TreeTables returns the tables of an engine of TreeEngines for the tree and its dead links. Tables
// depend on the dead set alone, never on earlier routes. A destination that cannot be reached from
// a leaf has no entry there; Walk finds it. O(leaves · S · spines), and on three levels as much for
// each plane.
//
// All single-path engines first place every destination as if no link were dead, and then move the
// broken entries, those whose spine has lost its link to the source leaf or to the destination's:
//
//   - ftree puts destination rank d on spine d mod spines, which keeps a linear shift over full
//     leaves contention-free (d-mod-k, IEEE Micro 2020 §2), and then on top switch ⌊d/spines⌋ mod
//     tops; broken entries as minhop. Plans take it on whole trees of two levels only, and
//     OpenSM's engine of the same name (site/engines) on others.
//   - minhop takes, at each leaf and for destinations on other leaves in order of rank, the spine
//     with the fewest destinations so far, ties to the lowest. Broken entries are taken out of the
//     counts, then placed in order of rank among the spines alive at both ends by the same rule.
//   - spread differs in the ties of broken entries only: they go to the first
//     candidate in cyclic order from index (leaf mod candidates), so that
//     different leaves do not all move the same destination to the same spine.
//
// ecmp, spray and adaptive give every leaf all spines alive at both ends.
//
// Parallel cables are ways like spines: a leaf's ways are its cables, with the p cables to spine k
// from k·p on. ftree puts rank d on way d mod ways. A spine treats the servers of a leaf, with its
// cables down, as a leaf treats destinations with ways up, in order of rank.
//
// On three levels the spines of a leaf are the switches of its pod, alive for a destination where a
// live path begins with them. Each of these switches treats destinations in other pods with its top
// switches as a leaf does with spines; its pod stands for the leaf. These rules are ours: OpenSM's
// engines are in site/engines.
func TreeTables(t *topology.Tree, engine string) (*Tables, error) {
	healthy, ok := map[string]func(f fan, choice []int){
		Ftree: destinationMod, MinHop: roundRobin, Spread: roundRobin, ECMP: nil, Spray: nil, Adaptive: nil,
	}[engine]
	if !ok {
		return nil, fmt.Errorf("routing %q: no such engine; %s", engine, show.Choices(engine, TreeEngines()))
	}
	tables := NewTables(engine, t)
	for leaf := range t.Leaves() {
		for slot := range t.On(leaf) {
			tables.Set(Switch(leaf), t.First(leaf)+slot, Port(slot))
		}
	}
	lead := func(f fan) {
		if healthy == nil {
			f.setAll(tables)
			return
		}
		choice := f.unrouted()
		healthy(f, choice)
		f.repair(choice, engine == Spread)
		for dst, k := range choice {
			if k != none {
				tables.Set(f.sw, dst, Port(f.port+k))
			}
		}
	}
	for f := range fans(t) {
		lead(f)
	}
	for _, f := range downFans(t) {
		lead(f)
	}
	if t.Cables() == 1 {
		setDown(tables)
	}
	return tables, nil
}

// none marks a destination without a way up: below the switch, or unreachable.
const none = -1

// A fan is the ways of a switch, mostly up, and its destinations for them.
type fan struct {
	tree  *topology.Tree
	sw    Switch
	index int // of the leaf or pod
	port  int // of the first way
	ways  int
	below func(leaf int) bool          // these ways do not lead to a leaf
	open  func(leaf int, way int) bool // a live path to a leaf begins with a way
	mod   int                          // destinations are divided by it before ftree takes the remainder
}

// fans yields the fans of all leaves and, on three levels, of the switches in pods.
func fans(t *topology.Tree) iter.Seq[fan] {
	return func(yield func(fan) bool) {
		for sw := range t.Switches() {
			port, ways := t.Upward(sw)
			if ways == 0 {
				continue
			}
			open := make([]bool, t.Leaves()*ways)
			for b := range t.Leaves() {
				for l := range t.Ways(sw, b) {
					low, _ := t.Ends(l)
					open[b*ways+low.Port-port] = true
				}
			}
			f := fan{
				tree: t, sw: Switch(sw), index: t.Place(sw), port: port, ways: ways, mod: 1,
				below: func(b int) bool { return t.Below(b, sw) },
				open:  func(b, k int) bool { return open[b*ways+k] },
			}
			if sw >= t.Leaves() {
				f.mod = t.Spines()
			}
			if !yield(f) {
				return
			}
		}
	}
}

// downFans returns, where cables are parallel, the fans of a spine to each leaf.
func downFans(t *topology.Tree) (out []fan) {
	for k := 0; t.Cables() > 1 && k < t.Spines(); k++ {
		for leaf := range t.Leaves() {
			_, high := t.Ends(t.Cable(leaf, k, 0))
			out = append(out, fan{
				tree: t, sw: Switch(high.Switch), index: leaf, port: high.Port, ways: t.Cables(), mod: 1,
				below: func(b int) bool { return b != leaf },
				open:  func(_, c int) bool { return t.CableAlive(leaf, k, c) },
			})
		}
	}
	return out
}

// remote calls f for every destination that the way down does not reach, by rank.
func (f fan) remote(do func(dst, leaf int)) {
	for leaf := range f.tree.Leaves() {
		if f.below(leaf) {
			continue
		}
		for dst := f.tree.First(leaf); dst < f.tree.First(leaf+1); dst++ {
			do(dst, leaf)
		}
	}
}

func destinationMod(f fan, choice []int) {
	f.remote(func(dst, _ int) { choice[dst] = dst / f.mod % f.ways })
}

// roundRobin is "fewest destinations so far, ties to the lowest" when every
// way is a candidate for every destination.
func roundRobin(f fan, choice []int) {
	i := 0
	f.remote(func(dst, _ int) {
		choice[dst] = i % f.ways
		i++
	})
}

func (f fan) unrouted() []int {
	return slices.Repeat([]int{none}, f.tree.Servers())
}

func (f fan) candidates(leaf int) []int {
	var out []int
	for k := range f.ways {
		if f.open(leaf, k) {
			out = append(out, k)
		}
	}
	return out
}

func (f fan) repair(choice []int, rotate bool) {
	count := make([]int, f.ways)
	f.remote(func(dst, leaf int) {
		if k := choice[dst]; f.open(leaf, k) {
			count[k]++
		} else {
			choice[dst] = none
		}
	})
	f.remote(func(dst, leaf int) {
		if choice[dst] != none {
			return
		}
		candidates := f.candidates(leaf)
		if len(candidates) == 0 {
			return
		}
		start := 0
		if rotate {
			start = f.index
		}
		best := LeastUsed(candidates, count, start)
		choice[dst] = best
		count[best]++
	})
}

// LeastUsed returns the first of the candidates with the least count, from place start on, around their end.
func LeastUsed[T int | int32](candidates, count []T, start int) T {
	best := candidates[start%len(candidates)]
	for i := range candidates {
		if k := candidates[(start+i)%len(candidates)]; count[k] < count[best] {
			best = k
		}
	}
	return best
}

func (f fan) setAll(tables *Tables) {
	t := f.tree
	for leaf := range t.Leaves() {
		if f.below(leaf) {
			continue
		}
		ports := lists.Map(f.candidates(leaf), func(k int) Port { return Port(f.port + k) })
		for dst := t.First(leaf); dst < t.First(leaf+1); dst++ {
			tables.Set(f.sw, dst, ports...)
		}
	}
}

// setDown points every switch above leaves down to the destination's leaf where it can.
func setDown(tables *Tables) {
	t := tables.Tree
	for leaf := range t.Leaves() {
		for up := range t.UpLinks(leaf) {
			if !t.LinkAlive(up) {
				continue
			}
			tables.down(up, leaf)
			_, high := t.Ends(up)
			for l := range t.UpLinks(high.Switch) {
				if t.LinkAlive(l) {
					tables.down(l, leaf)
				}
			}
		}
	}
}

func (t *Tables) down(l topology.Link, leaf int) {
	_, high := t.Tree.Ends(l)
	for dst := t.Tree.First(leaf); dst < t.Tree.First(leaf+1); dst++ {
		t.Set(Switch(high.Switch), dst, Port(high.Port))
	}
}
