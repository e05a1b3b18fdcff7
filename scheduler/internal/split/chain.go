package split

import (
	"math/rand/v2"
	"slices"

	"evbench/scheduler/internal/fattree"
)

// Where no link has room to spare and leaves share few spines, the search may stop a few messages
// short. A random move of a message, which makes two links worse, then opens other ways. Some ten
// such kicks were enough in most cases, 400 in the worst.
const (
	MaxKicks  = 1000
	maxStates = 1 << 18 // of all searches of one repair
)

// A chain is a search for moves that take messages off a link above the ceiling. Messages between
// nodes i and j leave spine k, overloaded at i, for a spine where i has room. If j has room there
// too, the chain ends. Otherwise j is overloaded there, and has just freed k; other messages
// between j and some node move on: an alternating path, as in a search for a larger matching. A move takes one message or, of a spread, a grain.
//
// The state of the search is therefore (node, overloaded spine, spine just freed). Where no link
// has room to spare, the freed spine is the only room; without it such cases end one message over.
type chain struct {
	s      *Split
	f      *fattree.Tree
	grains *Grains // nil: single messages
	seen   []int32 // the search that met a state last
	round  int32
	queue  []hop
	states int // visited so far
	turn   int // where loops over partners start: chains spread over all
	cursor int // the link looked at last
	random *rand.Rand
}

// A hop is a state of the search: node, overloaded spine, and the hop before, whose spine is the
// one just freed.
type hop struct{ node, over, prev int32 }

func newChain(s *Split, grains *Grains) *chain {
	return &chain{
		s: s, f: s.F, grains: grains, seen: make([]int32, len(s.Load)*(s.F.Spines+1)),
		random: rand.New(rand.NewPCG(uint64(len(s.Load)), uint64(s.Over))),
	}
}

// repair moves messages between spines until no load is above the capacity of its link, and reports
// whether it succeeded. It fails where it finds no split of whole numbers.
func (s *Split) repair() bool {
	c := newChain(s, nil)
	for kicks := 0; s.Over > 0; {
		node, spine := c.next()
		if c.relieve(node, spine) {
			continue
		}
		if kicks == MaxKicks || c.states > maxStates {
			return false
		}
		kicks++
		c.kick(node, spine)
	}
	return true
}

func (c *chain) next() (node, spine int) {
	for c.s.Load[c.cursor] <= c.s.most(c.cursor) {
		c.cursor = (c.cursor + 1) % len(c.s.Load)
	}
	return c.cursor / c.f.Spines, c.cursor % c.f.Spines
}

// opposite returns the first node of the other side.
func (s *Split) opposite(node int) int {
	if node < s.F.Leaves {
		return s.F.Leaves
	}
	return 0
}

func (c *chain) grain(i, j int) int32 {
	if c.grains == nil {
		return 1
	}
	return c.grains.of(i, j)
}

// can reports whether a grain between two nodes can move to another spine.
func (c *chain) can(i, j, from, to int) bool {
	if c.grains != nil {
		return c.grains.can(i, j, from, to)
	}
	return c.s.X[c.s.At(i, j)+from] > 0 && c.f.Alive[c.f.Link(i%c.f.Leaves, to)] && c.f.Alive[c.f.Link(j%c.f.Leaves, to)]
}

func (c *chain) move(i, j, from, to int) {
	g := c.grain(i, j)
	c.s.Add(i, j, from, -g)
	c.s.Add(i, j, to, g)
}

func (c *chain) kick(node, spine int) {
	for range 100 {
		partner, to := c.random.IntN(c.f.Leaves), c.random.IntN(c.f.Spines)
		j := c.s.opposite(node) + partner
		if partner != node%c.f.Leaves && to != spine && c.can(node, j, spine, to) {
			c.move(node, j, spine, to)
			return
		}
	}
}

// relieve takes a grain off a link by the shortest chain that exists and reports
// whether there was one. O(leaves²·spines²) moves looked at, breadth first.
func (c *chain) relieve(node, spine int) bool {
	c.round++
	c.queue = append(c.queue[:0], hop{int32(node), int32(spine), none})
	for at := 0; at < len(c.queue); at++ {
		c.states++
		q := c.queue[at]
		freed := none
		if q.prev != none {
			freed = int(c.queue[q.prev].over)
		}
		for to := range c.f.Spines {
			if to != int(q.over) && c.try(at, to, to == freed) {
				return true
			}
		}
	}
	return false
}

// try moves a grain of any partner to a spine. A partner with room there ends the chain. The others
// become states.
func (c *chain) try(at, to int, freed bool) bool {
	i, over := int(c.queue[at].node), int(c.queue[at].over)
	if c.grains == nil && !(c.f.Alive[c.f.Link(i%c.f.Leaves, to)] && (freed || c.s.Load[i*c.f.Spines+to] < c.s.most(i*c.f.Spines+to))) {
		return false
	}
	c.turn++
	most := c.s.most(i*c.f.Spines + to)
	for p := range c.f.Leaves {
		leaf := (p + c.turn) % c.f.Leaves
		j := c.s.opposite(i) + leaf
		if leaf == i%c.f.Leaves || !freed && c.s.Load[i*c.f.Spines+to]+c.grain(i, j) > most || !c.can(i, j, over, to) {
			continue
		}
		next := hop{int32(j), int32(to), int32(at)}
		if c.s.Load[j*c.f.Spines+to]+c.grain(i, j) <= c.s.most(j*c.f.Spines+to) {
			if c.apply(next) {
				return true
			}
			continue
		}
		if id := (j*c.f.Spines+to)*(c.f.Spines+1) + over; c.seen[id] != c.round {
			c.seen[id] = c.round
			c.queue = append(c.queue, next)
		}
	}
	return false
}

// apply makes the moves of a chain, the last first. A chain that passes a link twice may ask for
// more messages than exist, and one of unequal grains may not help: apply then undoes it.
func (c *chain) apply(last hop) bool {
	before, ok := c.s.Over, true
	var done []hop
	for h := last; h.prev != none && ok; h = c.queue[h.prev] {
		p := c.queue[h.prev]
		if ok = c.can(int(p.node), int(h.node), int(p.over), int(h.over)); ok {
			c.move(int(p.node), int(h.node), int(p.over), int(h.over))
			done = append(done, h)
		}
	}
	if ok && c.s.Over < before {
		return true
	}
	for _, h := range done {
		p := c.queue[h.prev]
		c.move(int(p.node), int(h.node), int(h.over), int(p.over))
	}
	return false
}

// Lower moves grains until no link carries more than the ceiling. Where no chain helps it kicks a
// link, at most kicks times, and ends with the best split. It reports whether it succeeded.
func (g *Grains) Lower(ceiling, kicks int) bool {
	s := g.s
	s.Ceiling, s.Over = int32(ceiling), 0
	for i, l := range s.Load {
		s.Over += int(max(0, l-s.most(i)))
	}
	c := newChain(s, g)
	least, x, load := s.Over, slices.Clone(s.X), slices.Clone(s.Load)
	for failed := 0; s.Over > 0 && c.states <= maxStates; {
		node, spine := c.next()
		fits := kicks > 0 || c.s.Load[c.cursor] >= c.s.most(c.cursor)+g.size[node%c.f.Leaves] // no more than is over
		if fits && c.relieve(node, spine) {
			if s.Over < least {
				least = s.Over
				copy(x, s.X)
				copy(load, s.Load)
			}
			continue
		}
		if failed++; kicks == 0 && failed < len(s.Load) {
			c.cursor = (c.cursor + 1) % len(s.Load) // another link may be luckier
			continue
		}
		if failed >= kicks {
			break
		}
		c.kick(node, spine)
	}
	if s.Over > least {
		s.Over = least
		copy(s.X, x)
		copy(s.Load, load)
	}
	return s.Over == 0
}
