package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/topology"
)

// parallel returns the most links from one of so many leaves to a switch, and notes the links of
// most cables.
func (p *Places) parallel(n *Network, leaves int) (most int) {
	p.usual = 1
	links := map[int]int{} // cables by their number of links
	for _, leaf := range p.nodes[:leaves] {
		count := map[Node]int{}
		for i, e := range n.Ends(leaf) {
			if e.Node != NoNode && !n.IsHost(e.Node) && e.Node != leaf {
				own := p.at(n, End{leaf, uint8(i + 1)})
				links[own]++
				count[e.Node] += own
				most = max(most, count[e.Node])
				if links[own] > links[p.usual] {
					p.usual = own
				}
			}
		}
	}
	return most
}

// at returns how many messages the cable at a port carries at once, each at the link rate: one
// where a rate is not known, and at least one.
func (p *Places) at(n *Network, e End) int {
	if r := n.Rate(e); p.lanes && p.rate > 0 && r > p.rate {
		return int(r/p.rate + 0.01)
	}
	return 1
}

// never returns the links that stand for no cable and for no dead one: those that a slower cable
// beside faster ones lacks, and those of a leaf that has fewer cables than others to every spine. A
// leaf is taken to have been built with as many cables to each spine as it has to one; where there
// is one spine alone, with as many as any leaf; and without cables to the spines that it has none to, where these
// are two at least and half of those that another leaf has; and so a spine. No cable ever joined networks that none joins now, such as
// the planes of hosts with several adapters.
func (p *Places) never() (absent []topology.Link) {
	t := p.Tree
	if p.stack != nil {
		return p.stack.absent
	}
	if t.Levels() == 3 {
		return nil
	}
	all := 1
	for id := 0; t.Spines() == 1 && id < t.LowerLinks(); id += t.Cables() {
		all = max(all, len(p.distinct(id)))
	}
	part := p.parts()
	few, _ := p.few(false)
	fewer, _ := p.few(true)
	for leaf := range t.Leaves() {
		free, cables, most := make([][]topology.Link, t.Spines()), make([]int, t.Spines()), max(all, p.toASpine(leaf))
		for k := range t.Spines() {
			for c := range t.Cables() {
				if l := t.Cable(leaf, k, c); len(p.cables[t.LinkID(l)]) == 0 {
					free[k] = append(free[k], l)
				}
			}
			cables[k] = len(p.distinct(t.LinkID(t.Cable(leaf, k, 0))))
		}
		for k, own := range free {
			if a, b := part[p.nodes[leaf]], part[p.nodes[t.Leaves()+k]]; a > 0 && b > 0 && a != b || cables[k] == 0 && few[leaf]+fewer[t.Leaves()+k] > 0 {
				absent = append(absent, own...)
				continue
			}
			absent = append(absent, own[:max(0, len(own)-(most-cables[k])*p.usual)]...)
		}
	}
	return absent
}

// parts numbers, from 1, the networks of leaves and spines that no cable joins, by switch.
func (p *Places) parts() map[Node]int {
	out := map[Node]int{}
	for i, part := range p.net.Subnets() {
		out[p.net.Switch(i)] = part
	}
	return out
}

// toASpine is the most cables that a leaf has to one spine.
func (p *Places) toASpine(leaf int) (most int) {
	for k := range p.Tree.Spines() {
		most = max(most, len(p.distinct(p.Tree.LinkID(p.Tree.Cable(leaf, k, 0)))))
	}
	return most
}

// distinct returns the cables between the two switches that the links from an ID on join.
func (p *Places) distinct(id int) map[Cable]bool {
	seen := map[Cable]bool{}
	for _, own := range p.cables[id : id+p.beside(id)] {
		if len(own) > 0 {
			seen[own[0]] = true
		}
	}
	return seen
}

// few returns the leaves of two levels in a file that have cables to half the spines of another leaf of their network or
// fewer, and to two fewer, or such spines, with the number; and the most of one.
func (p *Places) few(ofSpines bool) (few map[int]int, most int) {
	t, with, parts, of := p.Tree, map[int]int{}, p.parts(), map[int]int{} // of: the most by part
	few = map[int]int{}
	if p.net.Notation != "" || t.Levels() != 2 {
		return few, 0
	}
	part := func(i int) int { return parts[p.nodes[i]] }
	for leaf := range t.Leaves() {
		for k := range t.Spines() {
			i := leaf
			if ofSpines {
				i = t.Leaves() + k
			}
			if len(p.distinct(t.LinkID(t.Cable(leaf, k, 0)))) > 0 {
				with[i]++
			}
			of[part(i)] = max(of[part(i)], with[i])
		}
	}
	for i, n := range with {
		if m := of[part(i)]; 2*n <= m && n <= m-2 {
			few[i], most = n, max(most, m)
		}
	}
	return few, most
}

// AsBuilt says which leaves have fewer cables to every spine than others, or to fewer spines, "" if none has: that
// is taken for the design, as a dead cable would be one of a spine.
func (p *Places) AsBuilt() string {
	if p.stack != nil {
		return p.stack.built()
	}
	t, by := p.Tree, map[int][]string{} // leaves by cables to a spine
	most := 0
	for leaf := 0; leaf < t.Leaves() && t.Levels() == 2 && t.Spines() > 1; leaf++ {
		n := p.toASpine(leaf)
		by[n] = append(by[n], t.SwitchName(leaf))
		most = max(most, n)
	}
	var out, notes []string
	for n := 1; n < most; n++ {
		if by[n] != nil {
			out = append(out, fmt.Sprintf("%s %s to a spine", show.Few(by[n]), show.Plural(n, "cable", "cables")))
		}
	}
	if out != nil {
		notes = append(notes, fmt.Sprintf("%s, where other leaves have %d", strings.Join(out, ", "), most))
	}
	notes = append(append(notes, p.fewNotes(false, "spine", "spines", "leaf")...), p.fewNotes(true, "leaf", "leaves", "spine")...)
	var first []string // leaves, one of each part
	parts := p.parts()
	for leaf, seen := 0, map[int]bool{}; leaf < t.Leaves() && t.Levels() == 2; leaf++ {
		if part := parts[p.nodes[leaf]]; part > 0 && !seen[part] {
			first, seen[part] = append(first, t.SwitchName(leaf)), true
		}
	}
	if len(first) > 1 {
		notes = append(notes, fmt.Sprintf("no cable joins the networks of %s: --hosts takes hosts of one", show.Few(first)))
	}
	if notes == nil {
		return ""
	}
	if p.Gaps() != "" {
		return "taken as built: " + strings.Join(notes, "; ")
	}
	return "taken as built, no cable dead: " + strings.Join(notes, "; ")
}

// fewNotes says which leaves, or spines, few has.
func (p *Places) fewNotes(ofSpines bool, one, more, other string) (notes []string) {
	few, most := p.few(ofSpines)
	names := map[int][]string{}
	for _, i := range slices.Sorted(maps.Keys(few)) {
		names[few[i]] = append(names[few[i]], p.Tree.SwitchName(i))
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		notes = append(notes, fmt.Sprintf("cables to %s alone of %s, where another %s has them to %d", show.Plural(n, one, more), show.Few(names[n]), other, most))
	}
	return notes
}

// built returns the network as Build made it, with all its cables; another network itself.
func (n *Network) built() *Network {
	if n.Notation != "" {
		if whole, err := Parse(n.Notation, 0); err == nil && whole.Nodes() == n.Nodes() {
			return whole
		}
	}
	return n
}

// Disconnected counts the pairs of servers of a tree of these places that are in networks that no cable joins by design. ok is
// false where others have no path, either.
func (p *Places) Disconnected(t *topology.Tree) (pairs int, ok bool) {
	part := p.parts()
	for _, x := range t.Unreachable() {
		a, b := part[p.nodes[x[0]]], part[p.nodes[x[1]]]
		if a == 0 || b == 0 || a == b {
			return 0, false
		}
		pairs += 2 * t.Fill()[x[0]] * t.Fill()[x[1]]
	}
	return pairs, true
}
