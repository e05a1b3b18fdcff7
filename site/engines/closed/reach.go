package closed

import (
	"math/bits"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/lft"
)

// sets are sets of targets, one for each switch.
type sets struct {
	words int
	bits  []uint64
}

func newSets(switches, targets int) sets {
	words := (targets + 63) / 64
	return sets{words, make([]uint64, switches*words)}
}

// of returns the set of a switch, a bit for each target.
func (s sets) of(i int) []uint64 { return s.bits[i*s.words : (i+1)*s.words] }

// reach returns the targets that each switch reaches with at most 0, 1, 2, … steps up and then any
// number down; target[s] is the target of switch s, or -1. It skips cables between equal ranks.
// O(cables · targets / 64) for each rank.
func (g *graph) reach(target []int32, targets int) []sets {
	down := newSets(len(target), targets)
	for _, level := range g.ranks {
		parallel.Each(0, len(level), func(_, i int) {
			s := int(level[i])
			own := down.of(s)
			if t := target[s]; t >= 0 {
				own[t/64] |= 1 << (t % 64)
			}
			g.unite(own, s, downward, down)
		})
	}
	layers := []sets{down}
	for range g.steps() {
		last := layers[len(layers)-1]
		next := newSets(len(target), targets)
		parallel.Each(0, len(target), func(_, s int) {
			copy(next.of(s), last.of(s))
			g.unite(next.of(s), s, upward, last)
		})
		layers = append(layers, next)
	}
	return layers
}

func (g *graph) steps() int {
	ranks := lists.CountIf(g.ranks, func(level []int32) bool { return len(level) > 0 })
	return max(0, ranks-1)
}

func (g *graph) unite(own []uint64, s int, dir dir, of sets) {
	for _, group := range g.groups[s] {
		if group.dir == dir {
			for w, x := range of.of(int(group.peer)) {
				own[w] |= x
			}
		}
	}
}

// choices writes to bits[k] the targets that switch s should send through its k-th group: down if
// that reaches them, else up with the fewest steps up.
func (g *graph) choices(layers []sets, s int, bits [][]uint64) {
	for k, group := range g.groups[s] {
		own := bits[k]
		clear(own)
		switch group.dir {
		case downward:
			for w, x := range layers[0].of(int(group.peer)) {
				own[w] = x
			}
		case upward:
			for a := 1; a < len(layers); a++ {
				have, had := layers[a].of(s), layers[a-1].of(s)
				for w, x := range layers[a-1].of(int(group.peer)) {
					own[w] |= x & have[w] &^ had[w]
				}
			}
		}
	}
}

// toSwitches writes the entries of the switches' own LIDs: port 0 for itself, else down if that
// reaches the switch, else up with the fewest steps up, which is a shortest up*/down* path where
// ranks are hops. Switches without such a path keep no route, as with OpenSM's updn. Sixty-four
// targets at a time start at another group. O(switches² + switches · cables / 64).
func (g *graph) toSwitches(t *lft.Tables) {
	count := len(g.rank)
	self, lid := make([]int32, count), make([]uint16, count)
	for s := range count {
		self[s], lid[s] = int32(s), g.net.Info(g.net.Switch(s)).LID
	}
	layers := g.reach(self, count)
	scratch := make([]toSwitch, parallel.Workers(0))
	parallel.Each(0, count, func(worker, s int) {
		r := &scratch[worker]
		r.g, r.lid, r.row = g, lid, t.Row(s)
		for a := range layers {
			r.layer(layers, a, s)
		}
		if lid[s] > 0 {
			t.Row(s)[lid[s]] = 0
		}
	})
}

type toSwitch struct {
	g     *graph
	lid   []uint16
	row   []uint8
	ports []uint8
	sets  [][]uint64
}

// layer routes to the switches that switch s reaches with a steps up, and not with fewer.
func (r *toSwitch) layer(layers []sets, a, s int) {
	dir, below := downward, 0
	if a > 0 {
		dir, below = upward, a-1
	}
	r.ports, r.sets = r.ports[:0], r.sets[:0]
	for _, group := range r.g.groups[s] {
		if group.dir == dir {
			r.ports = append(r.ports, group.ports[s%len(group.ports)])
			r.sets = append(r.sets, layers[below].of(int(group.peer)))
		}
	}
	for w, open := range layers[a].of(s) {
		if a > 0 {
			open &^= layers[a-1].of(s)[w]
		}
		for i := 0; i < len(r.sets) && open != 0; i++ {
			k := (i + w + s) % len(r.sets)
			found := open & r.sets[k][w]
			open &^= found
			for ; found != 0; found &= found - 1 {
				if lid := r.lid[64*w+bits.TrailingZeros64(found)]; lid > 0 {
					r.row[lid] = r.ports[k]
				}
			}
		}
	}
}

func eachBit(x uint64, visit func(i int)) {
	for ; x != 0; x &= x - 1 {
		visit(bits.TrailingZeros64(x))
	}
}
