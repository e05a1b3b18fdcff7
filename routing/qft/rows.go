package qft

import (
	"cmp"
	"slices"

	"evbench/internal/parallel"
	"evbench/routing/dmod/updown"
	"evbench/routing/lft"
)

type router struct {
	tree   *tree
	graph  *updown.Graph
	hosts  *updown.Hosts
	layers []updown.Sets
}

func (r *router) tables() *lft.Tables {
	t := lft.New("qft", r.graph.Net)
	scratch := updown.Scratch(0, r.graph.Net.Hosts())
	rows := make([]rowOf, len(scratch))
	parallel.Each(0, r.graph.Net.Switches(), func(worker, s int) {
		row := &rows[worker]
		row.router = r
		row.at(s)
		r.hosts.Row(t.Row(s), scratch[worker], row.fill)
	})
	r.graph.ToSwitches(t, 0)
	return t
}

// An option is a port that leads to a destination.
type option struct {
	label int
	port  uint8
}

// rowOf computes the routes of one switch at a time.
type rowOf struct {
	router   *router
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

// at finds the groups' leaves and labels for a switch.
func (o *rowOf) at(s int) {
	r := o.router
	o.s, o.level = s, r.tree.level(s)
	groups := r.graph.Groups[s]
	words := (len(r.hosts.Leaves) + 63) / 64
	if need := words * len(groups); len(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	if o.digits == nil {
		o.digits = make([]int, len(r.tree.M))
	}
	o.bits = o.bits[:0]
	for len(o.options) < len(groups) {
		o.options = append(o.options, nil)
	}
	for i, g := range groups {
		o.bits = append(o.bits, o.memory[i*words:(i+1)*words])
		r.tree.digits(int(g.Peer), o.level+int(g.Dir), o.digits)
		o.options[i] = o.options[i][:0]
		for _, port := range g.Ports {
			o.options[i] = append(o.options[i], option{o.labelOf(g, port), port})
		}
	}
	r.graph.Choices(r.layers, s, o.bits)
}

func (o *rowOf) labelOf(g updown.Group, port uint8) int {
	if g.Dir == updown.Up {
		return o.router.tree.upLabel(o.digits, o.level+1, port)
	}
	return o.router.tree.downLabel(o.digits, o.level, port)
}

func (o *rowOf) fill(dst []uint8, x int) {
	r := o.router
	updown.Segments(o.bits, len(r.hosts.Leaves), func(lo, hi int, groups []int32) {
		if len(groups) == 0 {
			return
		}
		period := o.choose(groups)
		r.hosts.Spans(lo, hi, func(d0, d1 int) {
			updown.Fill(dst[d0:d1], d0+x, o.rule.step, period, o.port)
		})
	})
	r.hosts.Local(dst, o.s)
}

// choose prepares a set of groups, all down or all up, and returns the period of
// the ports.
func (o *rowOf) choose(groups []int32) int {
	if o.rule = o.router.tree.down(o.level); o.router.graph.Groups[o.s][groups[0]].Dir == updown.Up {
		o.rule = o.router.tree.up(o.level)
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
		return o.rule.period() * len(o.left)
	}
	return o.rule.period()
}

// port is the closed form; where its port is gone, the others take turns.
func (o *rowOf) port(k int) uint8 {
	if p := o.byLabel[o.rule.label(k)]; p != lft.NoPort {
		return p
	}
	return o.left[k/o.rule.c%len(o.left)].port
}
