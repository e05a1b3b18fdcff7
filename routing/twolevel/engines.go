// Package twolevel answers: which next hop does each switch of a two-level tree take for
// each destination, by the exact rules that plans are made with, and what do those routes do
// (reach, loops, dead links, link loads)?
//
// It decides and counts; it runs no command and touches no kernel.
package twolevel

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// The engines of this package, by their names on the command line.
const (
	Ftree  = "ftree"  // spine = destination rank mod spines; plans have OpenSM's, equal on whole trees
	MinHop = "minhop" // broken entries to the least used live spine, ties to the lowest
	Spread = "spread" // the same, ties rotated by source leaf
	ECMP   = "ecmp"   // every live spine, the kernel hashes
	Spray  = "spray"  // every live spine, drawn for each packet
	// Adaptive has every live spine too: each packet takes that with the most free credit,
	// which only lossless networks have.
	Adaptive = "adaptive"
	Pinned   = "pinned" // the plan's own paths, one per message
)

// Engines returns the names that Compute takes.
func Engines() []string { return []string{Ftree, MinHop, Spread, ECMP, Spray, Adaptive} }

// PerPacket reports whether switches choose a path for each packet under an engine, so that
// packets of a message take several, and overtake each other.
func PerPacket(engine string) bool { return engine == Spray || engine == Adaptive }

// Compute returns the tables of an engine for the tree and its dead links.
// Tables depend on the dead set alone, never on what was routed before. A
// destination that cannot be reached from a leaf has no entry there; Walk
// finds it. O(leaves · S · spines).
//
// All single-path engines first place every destination as if no link were
// dead, and then move the broken entries, those whose spine has lost its link
// to the source leaf or to the destination's:
//
//   - ftree puts destination rank d on spine d mod spines, which keeps a linear
//     shift over full leaves contention-free (d-mod-k, IEEE Micro 2020 §2);
//     broken entries as minhop. Plans take it on whole trees only, and OpenSM's
//     engine of the same name (package routing) on others.
//   - minhop takes, at each leaf and for destinations on other leaves in order
//     of rank, the spine with the fewest destinations so far, ties to the
//     lowest. Broken entries are taken out of the counts, then placed in order
//     of rank among the spines alive at both ends by the same rule.
//   - spread differs in the ties of broken entries only: they go to the first
//     candidate in cyclic order from index (leaf mod candidates), so that
//     different leaves do not all move the same destination to the same spine.
//
// ecmp, spray and adaptive give every leaf all spines alive at both ends.
func Compute(t *topology.Tree, engine string) (*Tables, error) {
	healthy, ok := map[string]func(*topology.Tree, int) []int{
		Ftree: destinationMod, MinHop: roundRobin, Spread: roundRobin, ECMP: nil, Spray: nil, Adaptive: nil,
	}[engine]
	if !ok {
		return nil, fmt.Errorf("routing %q: no such engine; there are %s", engine, strings.Join(Engines(), ", "))
	}
	tables := New(engine, t)
	for leaf := range t.Leaves() {
		for slot := range t.On(leaf) {
			tables.Set(Leaf(leaf), t.First(leaf)+slot, Port(slot))
		}
		if healthy == nil {
			setAll(tables, leaf)
			continue
		}
		spines := healthy(t, leaf)
		repair(t, leaf, spines, engine == Spread)
		for dst, k := range spines {
			if k != none {
				tables.Set(Leaf(leaf), dst, Port(t.Ports()+k))
			}
		}
	}
	setSpines(tables)
	return tables, nil
}

// none marks a destination without a spine: on the same leaf, or unreachable.
const none = -1

// remote calls f for every destination on another leaf, by rank.
func remote(t *topology.Tree, leaf int, f func(dst, dstLeaf int)) {
	for other := range t.Leaves() {
		if other == leaf {
			continue
		}
		for dst := t.First(other); dst < t.First(other+1); dst++ {
			f(dst, other)
		}
	}
}

func destinationMod(t *topology.Tree, leaf int) []int {
	spines := unrouted(t)
	remote(t, leaf, func(dst, _ int) { spines[dst] = dst % t.Spines() })
	return spines
}

// roundRobin is "fewest destinations so far, ties to the lowest" when every
// spine is a candidate for every destination.
func roundRobin(t *topology.Tree, leaf int) []int {
	spines := unrouted(t)
	i := 0
	remote(t, leaf, func(dst, _ int) {
		spines[dst] = i % t.Spines()
		i++
	})
	return spines
}

func unrouted(t *topology.Tree) []int {
	spines := make([]int, t.Servers())
	for i := range spines {
		spines[i] = none
	}
	return spines
}

// repair moves the broken entries of a leaf.
func repair(t *topology.Tree, leaf int, spines []int, rotate bool) {
	count := make([]int, t.Spines())
	remote(t, leaf, func(dst, other int) {
		if k := spines[dst]; t.Alive(leaf, k) && t.Alive(other, k) {
			count[k]++
		} else {
			spines[dst] = none
		}
	})
	remote(t, leaf, func(dst, other int) {
		if spines[dst] != none {
			return
		}
		candidates := t.CommonSpines(leaf, other)
		if len(candidates) == 0 {
			return
		}
		start := 0
		if rotate {
			start = leaf % len(candidates)
		}
		best := candidates[start]
		for i := range candidates {
			if k := candidates[(start+i)%len(candidates)]; count[k] < count[best] {
				best = k
			}
		}
		spines[dst] = best
		count[best]++
	})
}

// setAll gives a leaf every spine alive at both ends.
func setAll(tables *Tables, leaf int) {
	t := tables.Tree
	for other := range t.Leaves() {
		if other == leaf {
			continue
		}
		var ports []Port
		for _, k := range t.CommonSpines(leaf, other) {
			ports = append(ports, Port(t.Ports()+k))
		}
		for dst := t.First(other); dst < t.First(other+1); dst++ {
			tables.Set(Leaf(leaf), dst, ports...)
		}
	}
}

// setSpines points every spine down to the destination's leaf where it can.
func setSpines(tables *Tables) {
	t := tables.Tree
	for k := range t.Spines() {
		for leaf := range t.Leaves() {
			if !t.Alive(leaf, k) {
				continue
			}
			for dst := t.First(leaf); dst < t.First(leaf+1); dst++ {
				tables.Set(Spine(t, k), dst, Port(leaf))
			}
		}
	}
}
