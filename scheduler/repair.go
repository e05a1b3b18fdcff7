package scheduler

import "math/rand/v2"

// repair moves messages between spines until no load is above the ceiling, and
// reports whether it got there. It does not where no split of whole numbers is
// found.
func (s *split) repair() bool {
	r := &repairer{
		split: s, seen: make([]int32, len(s.load)*(s.spines+1)),
		random: rand.New(rand.NewPCG(uint64(len(s.load)), uint64(s.over))),
	}
	for kicks := 0; s.over > 0; {
		node, spine := r.next()
		if r.relieve(node, spine) {
			continue
		}
		if kicks == maxKicks || r.states > maxStates {
			return false
		}
		kicks++
		r.kick(node, spine)
	}
	return true
}

// Where no link has room to spare and leaves share few spines, the search may
// stop a few messages short. A message moved at random, which makes two links
// worse, then opens other ways: some ten such kicks were enough in most cases
// met, 400 in the worst.
const (
	maxKicks  = 1000
	maxStates = 1 << 18 // of all searches of one repair
)

// A repairer takes single messages off links that are over the ceiling, by
// chains of moves: a message between nodes i and j leaves spine k, which is over
// at i, for a spine where i has room. If j has room there too, the chain ends.
// Otherwise j is now over there, and just freed on k; a message between j and
// some other node moves on.
//
// The state of the search is therefore (node, spine over, spine just freed). The
// freed spine matters where no link has room to spare: it is the only room there
// is, and without it such cases end one over.
type repairer struct {
	*split
	seen   []int32 // the search that met a state last
	round  int32
	queue  []state
	states int // visited so far
	turn   int // where loops over partners start: chains spread over all
	cursor int // the link looked at last
	random *rand.Rand
}

// next returns a link above the ceiling, in turn.
func (r *repairer) next() (node, spine int) {
	for r.load[r.cursor] <= r.ceiling {
		r.cursor = (r.cursor + 1) % len(r.load)
	}
	return r.cursor / r.spines, r.cursor % r.spines
}

// kick moves a random message off a link, to a random spine, full or not.
func (r *repairer) kick(node, spine int) {
	leaf := node % r.leaves
	for range 100 {
		partner, to := r.random.IntN(r.leaves), r.random.IntN(r.spines)
		j := r.opposite(node) + partner
		if partner == leaf || to == spine || !r.alive[r.link(leaf, to)] || !r.alive[r.link(partner, to)] || r.x[r.at(node, j)+spine] == 0 {
			continue
		}
		r.add(node, j, spine, -1)
		r.add(node, j, to, 1)
		return
	}
}

// opposite returns the first node of the other side.
func (s *split) opposite(node int) int {
	if node < s.leaves {
		return s.leaves
	}
	return 0
}

// A state was reached from state prev by moving one message between the two
// nodes from spine prev.over to spine over. Its freed spine is prev.over.
type state struct{ node, over, prev int32 }

// relieve takes one message off a link by the shortest chain that exists and
// reports whether there was one. O(leaves²·spines²) at most, breadth first.
func (r *repairer) relieve(node, spine int) bool {
	r.round++
	r.queue = append(r.queue[:0], state{int32(node), int32(spine), none})
	for at := 0; at < len(r.queue); at++ {
		r.states++
		if r.expand(at) {
			return true
		}
	}
	return false
}

// none is the previous state of the first.
const none = -1

// expand tries every move that helps a state.
func (r *repairer) expand(at int) bool {
	q := r.queue[at]
	freed := int32(none)
	if q.prev != none {
		freed = r.queue[q.prev].over
	}
	node := int(q.node)
	load := r.load[node*r.spines:]
	for to := range int32(r.spines) {
		if to != q.over && r.alive[r.link(node%r.leaves, int(to))] && (load[to] < r.ceiling || to == freed) && r.move(at, to) {
			return true
		}
	}
	return false
}

// move tries to move a message of any partner to spine to. A partner with room
// there ends the chain; the others become states.
func (r *repairer) move(at int, to int32) bool {
	q := r.queue[at]
	node := int(q.node)
	r.turn++
	for i := range r.leaves {
		leaf := (i + r.turn) % r.leaves
		j := r.opposite(node) + leaf
		if leaf == node%r.leaves || !r.alive[r.link(leaf, int(to))] || r.x[r.at(node, j)+int(q.over)] == 0 {
			continue
		}
		next := state{int32(j), to, int32(at)}
		if r.load[j*r.spines+int(to)] < r.ceiling {
			if r.apply(next) {
				return true
			}
			continue
		}
		id := (j*r.spines+int(to))*(r.spines+1) + int(q.over)
		if r.seen[id] != r.round {
			r.seen[id] = r.round
			r.queue = append(r.queue, next)
		}
	}
	return false
}

// apply makes the moves of a chain, the last first. A chain that passes a link
// twice may ask for more than there is; then it is undone.
func (r *repairer) apply(last state) bool {
	before := r.over
	done := []state{}
	ok := true
	for s := last; s.prev != none && ok; s = r.queue[s.prev] {
		ok = r.shift(s, 1)
		if ok {
			done = append(done, s)
		}
	}
	if ok && r.over < before {
		return true
	}
	for _, s := range done {
		r.shift(s, -1)
	}
	return false
}

// shift makes the move that led to a state, or undoes it with d = -1.
func (r *repairer) shift(s state, d int32) bool {
	p := r.queue[s.prev]
	from, to := int(p.over), int(s.over)
	if d > 0 && r.x[r.at(int(p.node), int(s.node))+from] == 0 {
		return false
	}
	r.add(int(p.node), int(s.node), from, -d)
	r.add(int(p.node), int(s.node), to, d)
	return true
}
