package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evbench/topology"
)

// lag is how long a returned link still counts as dead if a script keeps servers connected: reports
// about two links may arrive out of order.
const lag = 50 * time.Millisecond

// A generator draws failures one after the other and keeps only possible ones: a dead link cannot
// fail, and servers stay connected unless intended.
type generator struct {
	d    dice
	s    *Script
	tree *topology.Tree
	all  []linkFailure
	// strict: servers must stay connected.
	strict bool
}

func newGenerator(d dice, s *Script) *generator {
	return &generator{d: d, s: s, tree: s.Tree(), strict: true}
}

// fill draws the wanted number of link events, spread over the case.
func (g *generator) fill(want int) {
	end := g.s.Duration - calm
	each := (end - first) / time.Duration(max(1, want))
	if g.s.Kind == Wait || g.s.Kind == End {
		g.part(end)
	}
	at := first
	for n := g.changes(); n < want && at < end; n = g.changes() {
		g.try(g.draw(at, end))
		more := time.Duration(max(1, g.changes()-n)) * each
		at += g.d.between(more*2/3, more)
	}
}

// part takes down all links of a leaf, once or, if the run continues, several times. The times are
// spread over the case; everything else is drawn around them.
func (g *generator) part(end time.Duration) {
	g.strict = false
	defer func() { g.strict = true }()
	times, longest := 1, time.Second
	if g.s.Kind == Wait {
		times, longest = 3, 5*time.Second
	}
	slot := (end - first) / time.Duration(times)
	for i := range times {
		at := first + time.Duration(i)*slot + g.d.between(0, slot/3)
		leaf, length := g.d.IntN(g.tree.Leaves()), g.d.between(200*time.Millisecond, min(longest, slot/2))
		var set []linkFailure
		for spine := range g.tree.Spines() {
			set = append(set, failure(topology.Link{Leaf: leaf, Spine: spine}, at, length))
		}
		g.try(set)
	}
}

func (g *generator) draw(at, end time.Duration) []linkFailure {
	length := g.d.between(50*time.Millisecond, 1500*time.Millisecond)
	var set []linkFailure
	switch g.d.IntN(8) {
	case 0, 1:
		set = g.one(at, length)
	case 2:
		set = g.flap(at)
	case 3: // in the same millisecond
		set = append(g.one(at, length), g.one(at, g.d.between(50*time.Millisecond, length))...)
	case 4:
		set = g.spine(at, length)
	case 5:
		set = g.lastLink(at, length)
	default: // during the fail-over of the one before
		for range 2 + g.d.IntN(3) {
			set = append(set, g.one(at, length)...)
			at += g.d.between(time.Millisecond, 8*time.Millisecond)
		}
	}
	for i := range set {
		set[i].For = max(time.Millisecond, min(set[i].For, end-set[i].At))
	}
	return set
}

func failure(l topology.Link, at, length time.Duration) linkFailure {
	return linkFailure{Name: l.String(), Links: []topology.Link{l}, At: at, For: length}
}

func (g *generator) link() topology.Link {
	return topology.Link{Leaf: g.d.IntN(g.tree.Leaves()), Spine: g.d.IntN(g.tree.Spines())}
}

func (g *generator) one(at, length time.Duration) []linkFailure {
	return []linkFailure{failure(g.link(), at, length)}
}

func (g *generator) flap(at time.Duration) []linkFailure {
	var set []linkFailure
	l := g.link()
	for range 3 + g.d.IntN(6) {
		down := g.d.between(3*time.Millisecond, 60*time.Millisecond)
		set = append(set, failure(l, at, down))
		at += down + g.d.between(5*time.Millisecond, 80*time.Millisecond)
	}
	return set
}

func (g *generator) spine(at, length time.Duration) []linkFailure {
	spine := g.d.IntN(g.tree.Spines())
	f := linkFailure{Name: fmt.Sprintf("spine%d", spine), At: at, For: length}
	for leaf := range g.tree.Leaves() {
		f.Links = append(f.Links, topology.Link{Leaf: leaf, Spine: spine})
	}
	return []linkFailure{f}
}

// lastLink leaves a leaf with one link.
func (g *generator) lastLink(at, length time.Duration) []linkFailure {
	var set []linkFailure
	leaf, left := g.d.IntN(g.tree.Leaves()), g.d.IntN(g.tree.Spines())
	for spine := range g.tree.Spines() {
		if spine != left {
			set = append(set, failure(topology.Link{Leaf: leaf, Spine: spine}, at, length))
			at += g.d.between(0, 10*time.Millisecond)
		}
	}
	return set
}

// try accepts failures if they are possible beside the existing ones.
func (g *generator) try(set []linkFailure) {
	with := append(slices.Clone(g.all), set...)
	if possible(set, with) && (!g.strict || g.connected(set, with)) {
		g.all = with
	}
}

func (g *generator) changes() int { return (&Script{failures: g.all}).Changes() }

func (g *generator) done() []linkFailure {
	slices.SortStableFunc(g.all, func(a, b linkFailure) int { return cmp.Compare(a.At, b.At) })
	return g.all
}

// possible reports whether each link of a set, the last elements of all, is up for a moment before
// it fails again.
func possible(set, all []linkFailure) bool {
	old := len(all) - len(set)
	for i, f := range set {
		for _, o := range all[:old+i] {
			apart := f.At+f.For < o.At || o.At+o.For < f.At
			if !apart && slices.ContainsFunc(f.Links, func(l topology.Link) bool { return slices.Contains(o.Links, l) }) {
				return false
			}
		}
	}
	return true
}

// connected reports whether no failure that begins while one of the set is dead disconnects
// servers.
func (g *generator) connected(set, all []linkFailure) bool {
	for _, f := range all {
		beside := slices.ContainsFunc(set, func(x linkFailure) bool { return x.At <= f.At && f.At <= x.At+x.For+lag })
		if beside && !joined(g.tree, f.At, lag, all) {
			return false
		}
	}
	return true
}

// joined reports whether all servers reach each other with the links dead at a moment.
func joined(tree *topology.Tree, at, lag time.Duration, all []linkFailure) bool {
	view, err := tree.Without(deadAt(at, lag, all)...)
	return err == nil && view.Connected() == nil
}

// deadAt returns the links that are dead at a moment, and those that returned less than lag before.
func deadAt(at, lag time.Duration, all []linkFailure) []topology.Link {
	var dead []topology.Link
	for _, f := range all {
		if f.At <= at && at < f.At+f.For+lag {
			for _, l := range f.Links {
				if !slices.Contains(dead, l) {
					dead = append(dead, l)
				}
			}
		}
	}
	return dead
}
