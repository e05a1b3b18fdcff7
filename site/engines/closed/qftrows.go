package closed

import (
	"cmp"
	"slices"

	"evbench/site/lft"
)

type forms struct {
	tree   *tree
	graph  *graph
	hosts  *hosts
	layers []sets
}

type option struct {
	label int
	port  uint8
}

type formRow struct {
	*forms
	s, level int
	digits   []int // of the peer in hand
	memory   []uint64
	bits     [][]uint64 // by group: the leaves it is for
	options  [][]option // by group
	rule     rule
	byLabel  []uint8  // ports of the set of groups in hand, NoPort where gone
	left     []option // all of them
	lost     bool     // some label has no port
}

func (o *formRow) at(s int) [][]uint64 {
	o.s, o.level = s, o.tree.level(s)
	groups := o.graph.groups[s]
	words := (len(o.hosts.leaves) + 63) / 64
	if need := words * len(groups); len(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	o.bits = o.bits[:0]
	for len(o.options) < len(groups) {
		o.options = append(o.options, nil)
	}
	for i, g := range groups {
		o.bits = append(o.bits, o.memory[i*words:(i+1)*words])
		o.tree.digits(int(g.peer), o.level+int(g.dir), o.digits)
		o.options[i] = o.options[i][:0]
		for _, port := range g.ports {
			o.options[i] = append(o.options[i], option{o.labelOf(g, port), port})
		}
	}
	o.graph.choices(o.layers, s, o.bits)
	return o.bits
}

func (o *formRow) labelOf(g group, port uint8) int {
	if g.dir == upward {
		return o.tree.upLabel(o.digits, o.level+1, port)
	}
	return o.tree.downLabel(o.digits, o.level, port)
}

func (o *formRow) choose(groups []int32) (step, period int) {
	if o.rule = o.tree.down(o.level); o.graph.groups[o.s][groups[0]].dir == upward {
		o.rule = o.tree.up(o.level)
	}
	o.byLabel = o.byLabel[:0]
	for range o.rule.c {
		o.byLabel = append(o.byLabel, lft.NoPort)
	}
	o.left = o.left[:0]
	for _, g := range groups {
		for _, option := range o.options[g] {
			o.byLabel[option.label%o.rule.c] = option.port
			o.left = append(o.left, option)
		}
	}
	slices.SortFunc(o.left, func(a, b option) int { return cmp.Compare(a.label, b.label) })
	if o.lost = slices.Contains(o.byLabel, lft.NoPort); o.lost {
		return o.rule.step, o.rule.period() * len(o.left)
	}
	return o.rule.step, o.rule.period()
}

// port follows the closed form; where its port is gone, the others take turns.
func (o *formRow) port(k int) uint8 {
	if p := o.byLabel[o.rule.label(k)]; p != lft.NoPort {
		return p
	}
	return o.left[k/o.rule.c%len(o.left)].port
}
