package sim

import (
	"slices"

	"evbench/internal/lists"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

type network struct {
	wires int
	// path appends the wires from one server to another (ranks), the cables of the servers
	// included, in the order in which a message crosses them. It appends nothing for a pair without
	// a path.
	path func(to []int32, src, dst int) []int32
	// name returns the cable of a wire and its direction, "up" being away from the
	// servers.
	name func(wire int) (link, direction string)
	over plan.Over // nil: a tree

	tree *topology.Tree
	leaf []int // [rank]
	// by returns the path (topology.Tree.PathOf) of the message between two ranks on different
	// leaves, in O(1); negative for a pair without a path.
	by func(src, dst int) int
}

// networkOf returns the network of a plan: single paths, paths of the schedule, or, under ecmp, the
// path that the seed draws for each pair. It keeps no table of pairs: beyond the plan it needs
// O(leaves · servers). It is safe for concurrent use.
func networkOf(p *plan.Plan, seed uint64) *network {
	if p.Over != nil {
		return &network{
			wires: p.Over.Wires(), tree: p.Tree, leaf: make([]int, p.Tree.Servers()), path: p.Over.Way, name: p.Over.WireName, over: p.Over,
		}
	}
	n := &network{wires: p.Tree.AllWires(), tree: p.Tree, leaf: p.Tree.LeafOfRanks()}
	n.name = func(w int) (string, string) { return n.tree.WireName(topology.Wire(w)) }
	n.by = pathsOf(p, n.leaf, seed)
	n.path = func(to []int32, src, dst int) []int32 {
		if n.leaf[src] == n.leaf[dst] {
			return n.through(to, src, dst, scheduler.None)
		}
		return n.through(to, src, dst, n.by(src, dst))
	}
	return n
}

// longest is how many wires a message crosses at most.
func (n *network) longest() (most int) {
	if n.over == nil {
		return 2 + len(n.tree.PathLinks(0, n.tree.Leaves()-1, 0))
	}
	for src, dst := range n.tree.Pairs {
		most = max(most, len(n.path(nil, src, dst)))
	}
	return most
}

// rate is how many times the link rate a wire has.
func (n *network) rate(wire int32) float64 {
	if n.over == nil {
		return 1
	}
	return n.over.Rate(int(wire))
}

func (n *network) through(to []int32, src, dst, by int) []int32 {
	if n.over != nil {
		return n.path(to, src, dst)
	}
	a, b := n.leaf[src], n.leaf[dst]
	if a != b && by < 0 {
		return to
	}
	to = append(to, int32(n.tree.FromServer(src)))
	if a != b {
		for _, w := range n.tree.Between(make([]topology.Wire, 0, 4), a, b, by) {
			to = append(to, int32(w))
		}
	}
	return append(to, int32(n.tree.ToServer(dst)))
}

func pathsOf(p *plan.Plan, leaf []int, seed uint64) func(src, dst int) int {
	if p.Routing == routing.ECMP {
		return func(src, dst int) int { return p.Tables.Hashed(seed, leaf[src], src, dst) }
	}
	return p.AllPaths()
}

// routes are the ways of fragments under the plans of a job. One plan is in force.
type routes struct {
	wires, stride int
	plans         []*plan.Plan
	nets          []*network
	dead          [][]bool // [plan][wire]
	now           int      // the plan in force
	buf           []int32
}

func newRoutes(j *Job) *routes {
	r := &routes{plans: j.plans()}
	for _, p := range r.plans {
		n := networkOf(p, j.Seed)
		r.wires, r.stride = n.wires, max(r.stride, n.longest())
		r.nets = append(r.nets, n)
		r.dead = append(r.dead, deadWires(p, n.wires))
	}
	return r
}

func deadWires(p *plan.Plan, wires int) []bool {
	dead := make([]bool, wires+1) // one stands for no wire
	for _, l := range p.Tree.Missing() {
		up := p.Tree.UpWire(l)
		dead[up], dead[up+1] = true, true
	}
	return dead
}

func (r *routes) alive(path []int32) bool {
	return !slices.ContainsFunc(path, func(w int32) bool { return r.dead[r.now][w] })
}

// way returns the way of a fragment: its given way, while alive, else the result of choose.
func (r *routes) way(x *fragment) []int32 {
	if x.by == 0 {
		return r.choose(int(x.route), int(x.src), int(x.dst))
	}
	r.buf = r.nets[x.route].through(r.buf[:0], int(x.src), int(x.dst), int(x.by)-1)
	if !r.alive(r.buf) {
		return r.path(r.now, int(x.src), int(x.dst))
	}
	return r.whole()
}

// path returns the way under a plan, padded with no wire to the longest length, or nil where there
// is none or it is dead. The next call overwrites it.
func (r *routes) path(plan, src, dst int) []int32 {
	r.buf = r.nets[plan].path(r.buf[:0], src, dst)
	if len(r.buf) == 0 || !r.alive(r.buf) {
		return nil
	}
	return r.whole()
}

func (r *routes) whole() []int32 {
	for len(r.buf) < r.stride {
		r.buf = append(r.buf, int32(r.wires))
	}
	return r.buf
}

// choose returns the way of a fragment that a plan scheduled: the pinned path of that plan, if it
// pins messages and the path is alive; otherwise the path of the plan in force. Switches have one
// table for each destination, and all later fragments follow a new table.
func (r *routes) choose(plan, src, dst int) []int32 {
	if r.plans[plan].Pinned() {
		if path := r.path(plan, src, dst); path != nil || plan == r.now {
			return path
		}
	}
	return r.path(r.now, src, dst)
}

// meets reports whether the plan in force has a message between two servers. Leaves without a live
// path may have none.
func (r *routes) meets() func(src, dst int) bool {
	p := r.plans[r.now]
	if len(p.Unreachable) == 0 {
		return func(src, dst int) bool { return p.Tree.Reads(src) && p.Tree.Builds(dst) }
	}
	cut := map[[2]int]bool{}
	for _, pair := range p.Unreachable {
		cut[pair], cut[[2]int{pair[1], pair[0]}] = true, true
	}
	leaf := p.Tree.LeafOfRanks()
	return func(src, dst int) bool { return !cut[[2]int{leaf[src], leaf[dst]}] }
}

// sends returns the schedule of a plan: for each phase, the destination of each server, or -1.
func sends(p *plan.Plan) [][]int32 {
	out := lists.Tabulate(p.Schedule.Phases, func(int) []int32 { return slices.Repeat([]int32{-1}, p.Tree.Servers()) })
	for m := range p.Schedule.All() {
		out[m.Phase][m.Src] = int32(m.Dst)
	}
	return out
}
