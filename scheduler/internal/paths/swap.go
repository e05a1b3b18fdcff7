package paths

import (
	"slices"
)

// hopeless is the number of colliding pairs above the allowed ones that ends a swap before its
// cycle is closed. Long cycles seldom recover. On leaves with idle links most are long, and without
// this limit a search takes ten times as long or fails.
const hopeless = 2

// untangle swaps until no destination gets two messages in a phase. It reports whether it succeeded
// before it had looked at that many units.
func (t *timing) untangle(work int) bool {
	pairs := 0 // of messages that share destination and phase
	for _, b := range t.busy {
		pairs += int(b) * (int(b) - 1) / 2
	}
	for pairs > 0 && t.work < work {
		for i := range t.busy {
			for t.busy[i] > 1 && t.work < work {
				pairs += t.relieve(i/t.c.Phases, i%t.c.Phases)
			}
		}
	}
	return pairs == 0
}

// relieve makes a swap that moves a message for destination d out of phase p, and returns the
// change of the number of colliding pairs. It tries each phase in which d is free for a swap that
// lowers the number. If there is none, an exchange may do, or a random swap that does not raise it
// (a plateau).
func (t *timing) relieve(d, p int) int {
	k := t.c.Phases
	var users []int // left nodes that send to d in p, by a right node of its leaf
	for _, v := range t.of[t.leafOf[d]] {
		if e := t.down[int(v)*k+p]; t.dest[e] == int32(d) {
			users = append(users, int(t.left[e]))
		}
	}
	slices.Sort(users)
	row := t.busy[d*k : (d+1)*k]
	start := t.random.IntN(k)
	for i := range k {
		q := (start + i) % k
		if row[q] > 0 {
			continue
		}
		for _, u := range users {
			if c, ok := t.swap(u, p, q, -1); ok {
				return c
			}
		}
	}
	t.work++ // there may be nothing to look at
	if t.spines > 1 {
		if c, ok := t.exchange(d, p, users); ok {
			return c
		}
	}
	t.twist(p)
	for range 100 {
		q := t.random.IntN(k)
		if q == p || row[q] > 0 && t.random.IntN(20) > 0 {
			continue
		}
		if c, ok := t.swap(users[t.random.IntN(len(users))], p, q, 0); ok {
			return c
		}
	}
	return 0
}

// twist makes two edges within a random leaf exchange their right nodes in phase p. These edges
// only stand for links without a message, so twist changes only the cycles: on a small tree cycles
// are often so few that all swaps of a message also move the messages that it collides with.
func (t *timing) twist(p int) {
	nodes := t.of[t.random.IntN(len(t.of))]
	if len(nodes) < 2 {
		return
	}
	u, w := int(nodes[t.random.IntN(len(nodes))]), int(nodes[t.random.IntN(len(nodes))])
	e, f := t.up[u*t.c.Phases+p], t.up[w*t.c.Phases+p]
	v, x := int(t.right[e]), int(t.right[f])
	if t.dest[e] != none || t.dest[f] != none || !t.joins(u, x) || !t.joins(w, v) {
		return
	}
	t.right[e], t.right[f] = t.right[f], t.right[e]
	t.down[v*t.c.Phases+p], t.down[x*t.c.Phases+p] = f, e
}

// swap exchanges the units of phases p and q along the cycle through left node u, unless the
// number of colliding pairs then rises by more than the limit; the cycle goes right by a unit
// of p, and back by one of q. It returns the change, and whether the swap was made.
func (t *timing) swap(u, p, q, limit int) (change int, done bool) {
	end := u
	for w := u; ; {
		e, f := t.up[w*t.c.Phases+p], t.up[w*t.c.Phases+q]
		change += t.shift(e, f, p, q)
		t.work++
		if w = t.next(e, q); w == u || change > limit+hopeless {
			end = w
			break
		}
	}
	done = end == u && change <= limit
	for w := u; ; {
		e, f := t.up[w*t.c.Phases+p], t.up[w*t.c.Phases+q]
		next := t.next(e, q)
		if done {
			t.up[w*t.c.Phases+p], t.up[w*t.c.Phases+q] = f, e
			v := int(t.right[e]) * t.c.Phases
			t.down[v+p], t.down[v+q] = t.down[v+q], e
		} else {
			t.shift(f, e, p, q)
		}
		if w = next; w == end {
			return change, done
		}
	}
}

// next returns the left node after unit e, by the unit of q at its right node.
func (t *timing) next(e int32, q int) int {
	return int(t.left[t.down[int(t.right[e])*t.c.Phases+q]])
}

// shift moves unit e from phase p to q and unit f from q to p in the counts of destinations, and
// returns the change of the number of colliding pairs.
func (t *timing) shift(e, f int32, p, q int) int {
	d, g := t.dest[e], t.dest[f]
	if d == g {
		return 0
	}
	change := 0
	if d != none {
		row := t.busy[int(d)*t.c.Phases:]
		row[p]--
		change += int(row[q]) - int(row[p])
		row[q]++
	}
	if g != none {
		row := t.busy[int(g)*t.c.Phases:]
		row[q]--
		change += int(row[p]) - int(row[q])
		row[p]++
	}
	return change
}

// exchange lets a message for d of phase p, from one of the left nodes given, and
// another between the same leaves trade links and phases such that neither
// collides, if their leaf then uses few enough spines towards both destinations.
func (t *timing) exchange(d, p int, users []int) (change int, done bool) {
	start := t.random.IntN(t.c.Phases)
	for i := range t.c.Phases {
		q := (start + i) % t.c.Phases
		if t.busy[d*t.c.Phases+q] > 0 {
			continue
		}
		for _, u := range users {
			e := t.up[u*t.c.Phases+p]
			for _, w := range t.of[t.home[u]] {
				f := t.up[int(w)*t.c.Phases+q]
				t.work++
				if g := t.dest[f]; g == none || t.leafOf[g] != t.leafOf[d] || t.busy[int(g)*t.c.Phases+p] > 0 {
					continue
				}
				if t.fits(e, f) && t.fits(f, e) {
					change = t.shift(e, f, p, q)
					t.trade(e, f, p, q)
					return change, true
				}
			}
		}
	}
	return 0, false
}

func (t *timing) fits(e, f int32) bool {
	d := int(t.dest[e])
	a := t.home[t.left[e]]
	n := t.f.R[a]
	first := t.f.Readers[a]*t.c.Width + d*n
	seen := make([]int, 0, 8)
	for i := first; i < first+n; i++ {
		k := t.c.Slots[i].Spine()
		if i == int(e) {
			k = t.c.Slots[f].Spine()
		}
		if !slices.Contains(seen, k) {
			if seen = append(seen, k); len(seen) > t.spines {
				return false
			}
		}
	}
	return true
}

func (t *timing) trade(e, f int32, p, q int) {
	k := t.c.Phases
	t.up[int(t.left[e])*k+p], t.up[int(t.left[f])*k+q] = f, e
	t.down[int(t.right[e])*k+p], t.down[int(t.right[f])*k+q] = f, e
	t.left[e], t.left[f] = t.left[f], t.left[e]
	t.right[e], t.right[f] = t.right[f], t.right[e]
	t.c.Slots[e], t.c.Slots[f] = t.c.Slots[f], t.c.Slots[e]
}
