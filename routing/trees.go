// Package routing answers: which next hops does each switch of a tree take for each destination, with
// a given routing engine?
//
// It holds the rules that plans use on trees (TreeTables), the tables, and checks of them: reach,
// loops, dead links, link loads. Main hands in other engines (Engines): site/engines has those for
// networks of any shape.
package routing

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// The engines that plans use on trees, by their names on the command line.
const (
	Ftree  = "ftree"  // OpenSM's: the spines of the destination's leaf in turn
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
//   - ftree has the routes of OpenSM's engine of that name in closed form (ftree.go), which are d-mod-k on whole
//     trees. Trees without closed form (Closed) are an error here; ForTree has them from site/engines.
//   - minhop first places every destination as if no link were dead: at each leaf, for destinations on other
//     leaves in order of rank, on the spine with the fewest destinations so far, ties to the lowest. Then it moves
//     the broken entries, those whose spine has lost its link to the source leaf or to the destination's: they are
//     taken out of the counts, then placed in order of rank among the spines alive at both ends by the same rule.
//   - spread differs in the ties of broken entries only: they go to the first
//     candidate in cyclic order from index (leaf mod candidates), so that
//     different leaves do not all move the same destination to the same spine.
//
// ecmp, spray and adaptive give every leaf all spines alive at both ends.
//
// Parallel cables are ways like spines: a leaf's ways are its cables, with the p cables to spine k
// from k·p on. A spine treats the servers of a leaf, with its cables down, as a leaf treats
// destinations with ways up, in order of rank.
//
// On three levels the spines of a leaf are the switches of its pod, alive for a destination where a
// live path begins with them. Each of these switches treats destinations in other pods with its top
// switches as a leaf does with spines; its pod stands for the leaf. The rules of minhop and spread are ours:
// OpenSM's engines are in site/engines.
func TreeTables(t *topology.Tree, engine string) (*Tables, error) {
	if !slices.Contains(TreeEngines(), engine) {
		return nil, fmt.Errorf("routing %q: no such engine; %s", engine, show.Choices(engine, TreeEngines()))
	}
	if engine == Ftree && !Closed(&t.Live, engine) {
		return nil, fmt.Errorf("routing %s on %s: no closed form", engine, t.Notation())
	}
	tables := NewTables(engine, t)
	for leaf := range t.Leaves() {
		for slot := range t.ServersOn(leaf) {
			tables.Set(Switch(leaf), t.First(leaf)+slot, Port(slot))
		}
	}
	var ways []int32
	if engine == Ftree {
		ways = make([]int32, t.Leaves()*t.Servers())
		ftree(&t.Live, ways)
	}
	choice := make([]int32, t.Servers())
	for f := range fans(t) {
		switch engine {
		case Ftree:
			choice = ways[int(f.sw)*len(choice):][:len(choice)]
		case MinHop, Spread:
			f.place(choice, engine == Spread)
		default:
			f.setAll(tables)
			continue
		}
		for dst, k := range choice {
			if k != none {
				tables.Set(f.sw, dst, Port(f.port+int(k)))
			}
		}
	}
	if t.Cables() == 1 {
		setDown(tables)
	}
	return tables, nil
}

// Closed reports whether LeafWays knows the ways of an engine on a tree: of minhop and spread on any tree, of ftree on
// two levels with single cables where all servers reach each other.
func Closed(t *topology.Live, engine string) bool {
	return engine == MinHop || engine == Spread || engine == Ftree && t.Plain() && t.Connected() == nil
}

// LeafWays fills the way up from each leaf to each server of another leaf, by leaf·S + rank, that an engine leads it
// where Closed; -1: none. On two levels with single cables it is the spine. It needs no tables, which surveys of many
// failures have no time for.
func LeafWays(t *topology.Tree, engine string, ways []int32) {
	if engine == Ftree {
		ftree(&t.Live, ways)
		return
	}
	for f := range fans(t) {
		if int(f.sw) >= t.Leaves() {
			return
		}
		f.place(ways[int(f.sw)*t.Servers():][:t.Servers()], engine == Spread)
	}
}

// none marks a destination without a way up: below the switch, or unreachable.
const none = -1

// A fan is the ways of a switch, mostly up, and its destinations for them.
type fan struct {
	tree  *topology.Tree
	sw    Switch
	index int                 // of the leaf or pod
	port  int                 // of the first way
	below func(leaf int) bool // these ways do not lead to a leaf
	open  []bool              // by leaf·ways + way: a live path to the leaf begins with the way
	count []int32             // by way: destinations, for place
}

// fans yields the fans of all leaves, on three levels those of the switches in pods, and, where cables are parallel, those
// of a spine to each leaf. Each is valid until the next.
func fans(t *topology.Tree) func(yield func(*fan) bool) {
	return func(yield func(*fan) bool) {
		f := &fan{tree: t}
		begin := func(sw, index, port, ways int, below func(leaf int) bool) {
			f.sw, f.index, f.port, f.below = Switch(sw), index, port, below
			f.open, f.count = cleared(f.open, t.Leaves()*ways), cleared(f.count, ways)
		}
		for sw := range t.Switches() {
			port, ways := t.Upward(sw)
			if ways == 0 {
				continue
			}
			begin(sw, t.Place(sw), port, ways, func(b int) bool { return t.Below(b, sw) })
			for b := range t.Leaves() {
				for l := range t.Ways(sw, b) {
					low, _ := t.Ends(l)
					f.open[b*ways+low.Port-port] = true
				}
			}
			if !yield(f) {
				return
			}
		}
		for k := 0; t.Cables() > 1 && k < t.Spines(); k++ {
			for leaf := range t.Leaves() {
				_, high := t.Ends(t.Cable(leaf, k, 0))
				begin(high.Switch, leaf, high.Port, t.Cables(), func(b int) bool { return b != leaf })
				for c := range t.Cables() {
					f.open[leaf*t.Cables()+c] = t.CableAlive(leaf, k, c)
				}
				if !yield(f) {
					return
				}
			}
		}
	}
}

// cleared returns n zero values, in the memory of s where it suffices.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// place gives each destination a way by the rule of minhop or, where ties rotate, of spread: "fewest destinations so far,
// ties to the lowest" is in turn where every way is a candidate for every destination.
func (f *fan) place(choice []int32, rotate bool) {
	t, ways, next, broken := f.tree, len(f.count), 0, false
	for b := range t.Leaves() {
		below := f.below(b)
		for dst := t.First(b); dst < t.First(b+1); dst++ {
			if choice[dst] = none; below {
				continue
			}
			if f.open[b*ways+next] {
				choice[dst] = int32(next)
				f.count[next]++
			} else {
				broken = true
			}
			if next++; next == ways {
				next = 0
			}
		}
	}
	live := make([]int32, 0, ways)
	for b := 0; broken && b < t.Leaves(); b++ {
		if f.below(b) {
			continue
		}
		live = f.candidates(live[:0], b)
		start := 0
		if rotate {
			start = f.index
		}
		for dst := t.First(b); dst < t.First(b+1) && len(live) > 0; dst++ {
			if choice[dst] == none {
				choice[dst] = LeastUsed(live, f.count, start)
				f.count[choice[dst]]++
			}
		}
	}
}

// candidates appends the ways that are open to a leaf.
func (f *fan) candidates(to []int32, leaf int) []int32 {
	for k, open := range f.open[leaf*len(f.count):][:len(f.count)] {
		if open {
			to = append(to, int32(k))
		}
	}
	return to
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

func (f *fan) setAll(tables *Tables) {
	t := f.tree
	for leaf := range t.Leaves() {
		if f.below(leaf) {
			continue
		}
		ports := lists.Map(f.candidates(nil, leaf), func(k int32) Port { return Port(f.port + int(k)) })
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
