package updown

import (
	"math/bits"

	"evbench/routing/lft"
)

const noPort = lft.NoPort

// Sets are sets of targets, one for each switch.
type Sets struct {
	words int
	bits  []uint64
}

func newSets(switches, targets int) Sets {
	words := (targets + 63) / 64
	return Sets{words, make([]uint64, switches*words)}
}

// of returns the set of a switch, a bit for each target.
func (s Sets) of(i int) []uint64 { return s.bits[i*s.words : (i+1)*s.words] }

// Reach returns which targets each switch reaches with at most 0, 1, 2, … steps
// up and then any number down; target[s] is that of switch s, or -1. Cables
// between equal ranks are not taken. O(cables · targets / 64) for each rank.
func (g *Graph) Reach(target []int32, targets, workers int) []Sets {
	down := newSets(len(target), targets)
	for _, level := range g.Ranks {
		Each(workers, len(level), func(_, i int) {
			s := int(level[i])
			own := down.of(s)
			if t := target[s]; t >= 0 {
				own[t/64] |= 1 << (t % 64)
			}
			g.unite(own, s, Down, down)
		})
	}
	layers := []Sets{down}
	for range g.steps() {
		last := layers[len(layers)-1]
		next := newSets(len(target), targets)
		Each(workers, len(target), func(_, s int) {
			copy(next.of(s), last.of(s))
			g.unite(next.of(s), s, Up, last)
		})
		layers = append(layers, next)
	}
	return layers
}

// steps returns how many steps up a path has at most.
func (g *Graph) steps() int {
	ranks := 0
	for _, level := range g.Ranks {
		if len(level) > 0 {
			ranks++
		}
	}
	return max(0, ranks-1)
}

func (g *Graph) unite(own []uint64, s int, dir Dir, of Sets) {
	for _, group := range g.Groups[s] {
		if group.Dir == dir {
			for w, x := range of.of(int(group.Peer)) {
				own[w] |= x
			}
		}
	}
}

// Choices writes to bits[k] the targets that switch s should send through its
// k-th group: down where that leads there, else up with the fewest steps up.
func (g *Graph) Choices(layers []Sets, s int, bits [][]uint64) {
	for k, group := range g.Groups[s] {
		own := bits[k]
		clear(own)
		switch group.Dir {
		case Down:
			for w, x := range layers[0].of(int(group.Peer)) {
				own[w] = x
			}
		case Up:
			for a := 1; a < len(layers); a++ {
				have, had := layers[a].of(s), layers[a-1].of(s)
				for w, x := range layers[a-1].of(int(group.Peer)) {
					own[w] |= x & have[w] &^ had[w]
				}
			}
		}
	}
}

// ToSwitches writes the entries of the switches' own LIDs: port 0 for itself,
// else down where that leads there, else up with the fewest steps up, which is a
// shortest up*/down* path where ranks are hops. What no such path leads to keeps
// no route, as with OpenSM's updn. Sixty-four targets at a time start at another
// group. O(switches² + switches · cables / 64).
func (g *Graph) ToSwitches(t *lft.Tables, workers int) {
	count := len(g.rank)
	self, lid := make([]int32, count), make([]uint16, count)
	for s := range count {
		self[s], lid[s] = int32(s), g.Net.Info(g.Net.Switch(s)).LID
	}
	layers := g.Reach(self, count, workers)
	scratch := make([]toSwitch, Workers(workers))
	Each(workers, count, func(worker, s int) {
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
	g     *Graph
	lid   []uint16
	row   []uint8
	ports []uint8
	sets  [][]uint64
}

// layer routes to what switch s reaches with a steps up, and not with fewer.
func (r *toSwitch) layer(layers []Sets, a, s int) {
	dir, below := Down, 0
	if a > 0 {
		dir, below = Up, a-1
	}
	r.ports, r.sets = r.ports[:0], r.sets[:0]
	for _, group := range r.g.Groups[s] {
		if group.Dir == dir {
			r.ports = append(r.ports, group.Ports[s%len(group.Ports)])
			r.sets = append(r.sets, layers[below].of(int(group.Peer)))
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
