package closed

import (
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
)

// infinite is the cost of no path. Costs are bytes of at most 7 bits, eight to a
// word, so that words of them are compared at once.
const (
	infinite = 126
	eight    = 0x0101010101010101
	high     = 0x80 * eight
)

// costs are rows of one byte for each leaf, one row for each switch.
type costs struct {
	words int
	c     []uint64
}

func newCosts(switches, leaves int) costs {
	words := (leaves + 7) / 8
	return costs{words, slices.Repeat([]uint64{infinite * eight}, switches*words)}
}

func (c costs) row(s int) []uint64 { return c.c[s*c.words : (s+1)*c.words] }

func (c costs) at(s, leaf int) uint8 { return uint8(c.row(s)[leaf/8] >> (leaf % 8 * 8)) }

func (c costs) set(s, leaf int, v uint8) {
	shift := leaf % 8 * 8
	w := &c.row(s)[leaf/8]
	*w = *w&^(0xFF<<shift) | uint64(v)<<shift
}

// less returns 0x80 in each byte where x < y; bytes are at most 127.
func less(x, y uint64) uint64 { return ^((x | high) - y) & high }

// choose returns the bytes of x where those of at are 0x80, else those of y.
func choose(at, x, y uint64) uint64 {
	mask := at - at>>7 | at
	return x&mask | y&^mask
}

// relax lowers costs to one more than a neighbour's.
func relax(own, near []uint64) {
	near = near[:len(own)]
	for i, x := range own {
		y := near[i] + eight
		own[i] = choose(less(y, x), y, x)
	}
}

// costs computes the hops of all switches to all leaves under the up-down restriction (Procedure
// 1). The paper lets each switch lower its neighbours' costs. Here each takes its own from its
// neighbours, rank by rank: the result is the same, and the switches of a rank run in parallel.
//
// With DownCost a switch above a leaf keeps to the way down. With ranks of hops that way is always
// the shortest. With other ranks it lets every lower switch go on down, as routes depend on the
// destination alone.
func (r *router) costs() {
	r.cost = newCosts(r.net.Switches(), len(r.hosts.leaves))
	for i, s := range r.hosts.leaves {
		r.cost.set(int(s), i, 0)
	}
	ranks := r.graph.ranks
	for _, level := range ranks {
		r.relaxAll(level, downward)
	}
	if r.opt.DownCost {
		r.down = costs{r.cost.words, slices.Clone(r.cost.c)}
	}
	for i := range ranks {
		r.relaxAll(ranks[len(ranks)-1-i], upward)
	}
}

func (r *router) relaxAll(level []int32, to dir) {
	parallel.Each(0, len(level), func(_, i int) {
		s := int(level[i])
		own := r.cost.row(s)
		for _, g := range r.graph.groups[s] {
			if g.dir == to {
				relax(own, r.cost.row(int(g.peer)))
			}
		}
		if to == upward && r.opt.DownCost {
			for w, x := range r.down.row(s) {
				own[w] = choose(less(x, infinite*eight), x, own[w])
			}
		}
	})
}

// dividers computes how many consecutive destinations each switch sends through
// the same port: the largest product of the numbers of switches above, over all
// ways up to it (Procedure 1, §3.3). O(cables).
func (r *router) dividers() {
	r.divider = slices.Repeat([]int{1}, r.net.Switches())
	for _, level := range r.graph.ranks {
		for _, s := range level {
			above := lists.CountIf(r.graph.groups[s], func(g group) bool { return g.dir == upward })
			product := min(r.divider[s]*above, maxDivider)
			for _, g := range r.graph.groups[s] {
				if g.dir == upward {
					r.divider[g.peer] = max(r.divider[g.peer], product)
				}
			}
		}
	}
}

// maxDivider exceeds the number of destinations; larger dividers have the same effect.
const maxDivider = 1 << 24
