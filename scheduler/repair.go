package scheduler

import (
	"math/rand/v2"
)

// Where no link has room to spare and leaves share few spines, the search may stop a few messages
// short. A random move of a message, which makes two links worse, then opens other ways. Some ten
// such kicks were enough in most cases, 400 in the worst.
const (
	maxKicks  = 1000
	maxStates = 1 << 18 // of all searches of one repair
)

// A chain is a search for moves that take messages off a link above the ceiling. Messages between
// nodes i and j leave spine k, overloaded at i, for a spine where i has room. If j has room there
// too, the chain ends. Otherwise j is overloaded there, and has just freed k; other messages
// between j and some node move on. A move takes one message or, of a spread, a grain.
//
// The state of the search is therefore (node, overloaded spine, spine just freed). Where no link
// has room to spare, the freed spine is the only room; without it such cases end one message over.
type chain struct {
	s      *split
	f      *fabric
	grains *grains // nil: single messages
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

func newChain(s *split, grains *grains) *chain {
	return &chain{
		s: s, f: s.f, grains: grains, seen: make([]int32, len(s.load)*(s.f.spines+1)),
		random: rand.New(rand.NewPCG(uint64(len(s.load)), uint64(s.over))),
	}
}

// repair moves messages between spines until no load is above the capacity of its link, and reports
// whether it succeeded. It fails where it finds no split of whole numbers.
func (s *split) repair() bool {
	c := newChain(s, nil)
	for kicks := 0; s.over > 0; {
		node, spine := c.next()
		if c.relieve(node, spine) {
			continue
		}
		if kicks == maxKicks || c.states > maxStates {
			return false
		}
		kicks++
		c.kick(node, spine)
	}
	return true
}

func (c *chain) next() (node, spine int) {
	for c.s.load[c.cursor] <= c.s.most(c.cursor) {
		c.cursor = (c.cursor + 1) % len(c.s.load)
	}
	return c.cursor / c.f.spines, c.cursor % c.f.spines
}

// opposite returns the first node of the other side.
func (s *split) opposite(node int) int {
	if node < s.f.leaves {
		return s.f.leaves
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
	return c.s.x[c.s.at(i, j)+from] > 0 && c.f.alive[c.f.link(i%c.f.leaves, to)] && c.f.alive[c.f.link(j%c.f.leaves, to)]
}

func (c *chain) move(i, j, from, to int) {
	g := c.grain(i, j)
	c.s.add(i, j, from, -g)
	c.s.add(i, j, to, g)
}

func (c *chain) kick(node, spine int) {
	for range 100 {
		partner, to := c.random.IntN(c.f.leaves), c.random.IntN(c.f.spines)
		j := c.s.opposite(node) + partner
		if partner != node%c.f.leaves && to != spine && c.can(node, j, spine, to) {
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
		for to := range c.f.spines {
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
	if c.grains == nil && !(c.f.alive[c.f.link(i%c.f.leaves, to)] && (freed || c.s.load[i*c.f.spines+to] < c.s.most(i*c.f.spines+to))) {
		return false
	}
	c.turn++
	most := c.s.most(i*c.f.spines + to)
	for p := range c.f.leaves {
		leaf := (p + c.turn) % c.f.leaves
		j := c.s.opposite(i) + leaf
		if leaf == i%c.f.leaves || !freed && c.s.load[i*c.f.spines+to]+c.grain(i, j) > most || !c.can(i, j, over, to) {
			continue
		}
		next := hop{int32(j), int32(to), int32(at)}
		if c.s.load[j*c.f.spines+to]+c.grain(i, j) <= c.s.most(j*c.f.spines+to) {
			if c.apply(next) {
				return true
			}
			continue
		}
		if id := (j*c.f.spines+to)*(c.f.spines+1) + over; c.seen[id] != c.round {
			c.seen[id] = c.round
			c.queue = append(c.queue, next)
		}
	}
	return false
}

// apply makes the moves of a chain, the last first. A chain that passes a link twice may ask for
// more messages than exist, and one of unequal grains may not help: apply then undoes it.
func (c *chain) apply(last hop) bool {
	before, ok := c.s.over, true
	var done []hop
	for h := last; h.prev != none && ok; h = c.queue[h.prev] {
		p := c.queue[h.prev]
		if ok = c.can(int(p.node), int(h.node), int(p.over), int(h.over)); ok {
			c.move(int(p.node), int(h.node), int(p.over), int(h.over))
			done = append(done, h)
		}
	}
	if ok && c.s.over < before {
		return true
	}
	for _, h := range done {
		p := c.queue[h.prev]
		c.move(int(p.node), int(h.node), int(h.over), int(p.over))
	}
	return false
}
