package scheduler

import (
	"cmp"
	"slices"
)

// keep returns messages of one phase of which no leaf sends or receives more than
// its live links carry, as many as it can or nearly so, and appends the others to
// moved.
func (r *rework) keep(messages, moved []uint32) (kept, _ []uint32) {
	k := &keeper{rework: r, messages: messages, room: make([]int, 2*r.leaves), at: make([][]int32, 2*r.leaves)}
	over := false
	for l, n := range r.live {
		k.room[l], k.room[r.leaves+l] = n, n
	}
	for i, m := range messages {
		a, b := r.across(m)
		k.at[a] = append(k.at[a], int32(i))
		k.at[r.leaves+int(b)] = append(k.at[r.leaves+int(b)], int32(i))
	}
	for node, edges := range k.at {
		over = over || len(edges) > k.room[node]
	}
	if !over {
		return messages, moved
	}
	k.fill()
	for a := range r.leaves {
		for k.room[a] > 0 && k.augment(a) {
		}
	}
	k.even()
	for i, m := range messages {
		if k.in[i] {
			kept = append(kept, m)
			continue
		}
		r.lose(m)
		moved = append(moved, m)
	}
	return kept, moved
}

// A keeper finds a largest b-matching. Node l is leaf l as it sends, node leaves+l
// as it receives.
type keeper struct {
	*rework
	messages []uint32
	room     []int     // by node: live links not taken
	at       [][]int32 // by node: indices of its messages
	in       []bool    // by message: kept
	loss     []int32   // by message: what its servers have lost so far
	from     []int32   // by node: the message by which the search came
}

// fill keeps messages that have room, first those whose loss is largest.
func (k *keeper) fill() {
	k.in = make([]bool, len(k.messages))
	k.loss = make([]int32, len(k.messages))
	order := make([]int32, len(k.messages))
	for i, m := range k.messages {
		order[i], k.loss[i] = int32(i), k.lossOf(m)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(k.loss[j], k.loss[i]) })
	for _, i := range order {
		if a, b := k.nodes(i); k.room[a] > 0 && k.room[b] > 0 {
			k.in[i] = true
			k.room[a]--
			k.room[b]--
		}
	}
}

// lossOf returns what moving a message costs: the phases added for what its servers
// have lost so far and for what its leaves will have lost in the end.
func (r *rework) lossOf(m uint32) int32 {
	src, dst := r.ends(m)
	a, b := r.across(m)
	return r.lost[src] + r.lost[r.ranks+dst] + r.short[a] + r.short[r.leaves+int(b)]
}

// lose counts a moved message.
func (r *rework) lose(m uint32) {
	src, dst := r.ends(m)
	r.lost[src]++
	r.lost[r.ranks+dst]++
}

// shortages returns how many phases each leaf needs besides those of the base to
// send, and to receive, what exceeds its live links there.
func (r *rework) shortages() []int32 {
	over, n := make([]int, 2*r.leaves), make([]int, 2*r.leaves)
	for p := range r.base.Phases {
		clear(n)
		for _, m := range r.of(p) {
			a, b := r.across(m)
			n[a]++
			n[r.leaves+int(b)]++
		}
		for node := range n {
			over[node] += max(0, n[node]-r.live[node%r.leaves])
		}
	}
	out := make([]int32, len(over))
	for node, n := range over {
		if n > 0 {
			out[node] = int32(ceilDiv(n, r.live[node%r.leaves]))
		}
	}
	return out
}

func (k *keeper) nodes(i int32) (a, b int32) {
	a, b = k.across(k.messages[i])
	return a, b + int32(k.leaves)
}

// augment keeps one message more by an alternating path from leaf a, which has
// room, to a leaf with room on the other side: messages on it that are not kept
// are from then on, and the other way round. It reports whether there is one.
// O(messages).
func (k *keeper) augment(a int) bool {
	k.from = slices.Repeat([]int32{None}, len(k.at))
	queue := []int32{int32(a)}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		sends := int(node) < k.leaves
		for _, i := range k.at[node] {
			u, v := k.nodes(i)
			next := v
			if !sends {
				next = u
			}
			if k.in[i] == sends || k.from[next] != None || int(next) == a {
				continue
			}
			k.from[next] = i
			if sends && k.room[next] > 0 {
				k.flip(int32(a), next)
				return true
			}
			queue = append(queue, next)
		}
	}
	return false
}

// flip changes the messages on the path that came to node.
func (k *keeper) flip(a, node int32) {
	k.room[a]--
	k.room[node]--
	for node != a {
		i := k.from[node]
		k.in[i] = !k.in[i]
		u, v := k.nodes(i)
		node ^= u ^ v // the other end
	}
}

// even exchanges messages kept for others while that lowers what is lost: it
// cancels negative cycles of the min-cost flow whose cost is the loss of the
// messages moved (Klein 1967). One node more, by which messages come and go, makes
// cycles of paths; so two messages may go for one that comes, which is better where
// the same two leaves lack links all the time. O(leaves·messages) a cycle.
func (k *keeper) even() {
	for range maxCycles {
		cycle := k.negative()
		if cycle == nil {
			return
		}
		for _, i := range cycle {
			a, b := k.nodes(i)
			d := -1
			if k.in[i] {
				d = 1
			}
			k.in[i] = !k.in[i]
			k.room[a] += d
			k.room[b] += d
		}
	}
}

const maxCycles = 50 // in one phase; what is left to gain after so many is little

// An exchange is an arc of the residual graph: message i changes sides.
type exchange struct{ from, to, i, cost int32 }

// negative returns the messages on a negative cycle, or nil (Bellman and Ford,
// who look for a cycle after each round).
func (k *keeper) negative() []int32 {
	arcs := k.arcs()
	nodes := len(k.at) + 1
	far, by := make([]int32, nodes), slices.Repeat([]int32{None}, nodes)
	for changed := true; changed; {
		changed = false
		for j, x := range arcs {
			if d := far[x.from] + x.cost; d < far[x.to] {
				far[x.to], by[x.to], changed = d, int32(j), true
			}
		}
		if node := onCycle(arcs, by); node != None {
			return cycle(arcs, by, node)
		}
	}
	return nil
}

// onCycle returns a node that arcs by lead back to, or None.
func onCycle(arcs []exchange, by []int32) int32 {
	seen := make([]int32, len(by)) // the start of the walk that came by, plus one
	for start := range by {
		node := int32(start)
		for seen[node] == 0 && by[node] != None {
			seen[node] = int32(start) + 1
			node = arcs[by[node]].from
		}
		if by[node] != None && seen[node] == int32(start)+1 {
			return node
		}
	}
	return None
}

// cycle returns the messages on the cycle through a node.
func cycle(arcs []exchange, by []int32, start int32) []int32 {
	var out []int32
	for node := start; ; {
		x := arcs[by[node]]
		if x.i != None {
			out = append(out, x.i)
		}
		if node = x.from; node == start {
			return out
		}
	}
}

func (k *keeper) arcs() []exchange {
	arcs := make([]exchange, 0, len(k.messages)+2*len(k.at))
	for i := range k.messages {
		a, b := k.nodes(int32(i))
		if k.in[i] {
			arcs = append(arcs, exchange{b, a, int32(i), k.loss[i]})
		} else {
			arcs = append(arcs, exchange{a, b, int32(i), -k.loss[i]})
		}
	}
	hub := int32(len(k.at))
	for node := range hub {
		sends, room := int(node) < k.leaves, k.room[node] > 0
		if room || !sends {
			arcs = append(arcs, exchange{hub, node, None, 0})
		}
		if room || sends {
			arcs = append(arcs, exchange{node, hub, None, 0})
		}
	}
	return arcs
}
