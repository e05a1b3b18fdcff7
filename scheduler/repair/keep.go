package repair

import (
	"cmp"
	"slices"

	"evbench/scheduler/internal/fattree"
)

func (r *rework) tiersOf() []tier {
	out := []tier{{live: r.f.Live, of: r.traffic.Across}}
	if f := r.f; f.Tops > 0 {
		pods := tier{of: func(m uint32) (u, v int32) {
			a, b := r.traffic.Across(m)
			return int32(f.Pod[a]), int32(f.Pod[b])
		}}
		for q := range f.Pods {
			pods.live = append(pods.live, f.UpperLinks(q))
		}
		out = append(out, pods)
	}
	for i := range out {
		out[i].short = r.shortages(&out[i])
	}
	return out
}

// keep returns as many messages of one phase as it can, or nearly so, such that no leaf or pod
// sends or receives more than its live links carry. It appends the others to moved.
func (r *rework) keep(t *tier, messages, moved []uint32) (kept, _ []uint32) {
	half := len(t.live)
	k := &keeper{r: r, tier: t, messages: messages, room: slices.Concat(t.live, t.live), at: make([][]int32, 2*half)}
	over := false
	for node, n := range t.count(messages) {
		over = over || n > k.room[node]
	}
	if !over {
		return messages, moved
	}
	k.in = make([]bool, len(messages))
	for i := range messages {
		if a, b := k.nodes(int32(i)); a+int32(half) != b {
			k.at[a] = append(k.at[a], int32(i))
			k.at[b] = append(k.at[b], int32(i))
		} else {
			k.in[i] = true // needs none of these links
		}
	}
	k.fill()
	for a := range half {
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

// A keeper finds a largest b-matching. Node l is leaf, or pod, l as sender, node len(live)+l as
// receiver.
type keeper struct {
	r        *rework
	tier     *tier
	messages []uint32
	room     []int     // by node: live links not taken
	at       [][]int32 // by node: indices of its messages
	in       []bool    // by message: kept
	loss     []int32   // by message: what its servers have lost so far
	from     []int32   // by node: the message by which the search came
}

// fill keeps messages that have room, first those whose loss is largest.
func (k *keeper) fill() {
	k.loss = make([]int32, len(k.messages))
	var order []int32
	for i := range k.messages {
		if !k.in[i] {
			order = append(order, int32(i))
			k.loss[i] = k.lossOf(int32(i))
		}
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

// lossOf returns the cost of moving a message: the phases added for the present losses of its
// servers and for the final losses of its leaves, or pods.
func (k *keeper) lossOf(i int32) int32 {
	src, dst := k.r.traffic.Ends(k.messages[i])
	a, b := k.nodes(i)
	return k.r.lost[src] + k.r.lost[k.r.traffic.Ranks+dst] + k.tier.short[a] + k.tier.short[b]
}

func (r *rework) lose(m uint32) {
	src, dst := r.traffic.Ends(m)
	r.lost[src]++
	r.lost[r.traffic.Ranks+dst]++
}

// shortages returns how many phases each leaf, or pod, needs besides those of the base to send, and
// to receive, the messages beyond its live links.
func (r *rework) shortages(t *tier) []int32 {
	over := make([]int, 2*len(t.live))
	for p := range r.base.Phases {
		for node, n := range t.count(r.traffic.Of(p)) {
			over[node] += max(0, n-t.live[node%len(t.live)])
		}
	}
	out := make([]int32, len(over))
	for node, n := range over {
		if n > 0 {
			out[node] = int32(fattree.CeilDiv(n, t.live[node%len(t.live)]))
		}
	}
	return out
}

func (k *keeper) nodes(i int32) (a, b int32) {
	a, b = k.tier.of(k.messages[i])
	return a, b + int32(len(k.tier.live))
}

// augment keeps one message more by an alternating path from leaf a, which has room, to a leaf with
// room on the other side: it swaps the messages kept and not kept on the path. It reports whether a
// path exists. Where there is none from any leaf, no b-matching is larger (Berge 1957). O(messages).
func (k *keeper) augment(a int) bool {
	k.from = slices.Repeat([]int32{none}, len(k.at))
	queue := []int32{int32(a)}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		sends := int(node) < len(k.tier.live)
		for _, i := range k.at[node] {
			u, v := k.nodes(i)
			next := v
			if !sends {
				next = u
			}
			if k.in[i] == sends || k.from[next] != none || int(next) == a {
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

// flip swaps kept and moved messages on the path to node.
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

// even exchanges messages kept for others while that lowers the loss. It cancels negative cycles of
// the min-cost flow whose cost is the loss of the messages moved (Klein 1967). One more node, by
// which messages come and go, makes cycles of paths. So one message may replace two, which is
// better where the same two leaves lack links all the time. O(leaves·messages) a cycle.
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

// negative returns the messages on a negative cycle, or nil (Bellman and Ford, with a look for a
// cycle after each round).
func (k *keeper) negative() []int32 {
	arcs := k.arcs()
	nodes := len(k.at) + 1
	far, by := make([]int32, nodes), slices.Repeat([]int32{none}, nodes)
	for changed := true; changed; {
		changed = false
		for j, x := range arcs {
			if d := far[x.from] + x.cost; d < far[x.to] {
				far[x.to], by[x.to], changed = d, int32(j), true
			}
		}
		if node := onCycle(arcs, by); node != none {
			return cycle(arcs, by, node)
		}
	}
	return nil
}

// onCycle returns a node on a cycle of the arcs in by, or none.
func onCycle(arcs []exchange, by []int32) int32 {
	seen := make([]int32, len(by)) // the start of the walk that came by, plus one
	for start := range by {
		node := int32(start)
		for seen[node] == 0 && by[node] != none {
			seen[node] = int32(start) + 1
			node = arcs[by[node]].from
		}
		if by[node] != none && seen[node] == int32(start)+1 {
			return node
		}
	}
	return none
}

func cycle(arcs []exchange, by []int32, start int32) []int32 {
	var out []int32
	for node := start; ; {
		x := arcs[by[node]]
		if x.i != none {
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
		if a+int32(len(k.tier.live)) == b {
			continue
		}
		if k.in[i] {
			arcs = append(arcs, exchange{b, a, int32(i), k.loss[i]})
		} else {
			arcs = append(arcs, exchange{a, b, int32(i), -k.loss[i]})
		}
	}
	hub := int32(len(k.at))
	for node := range hub {
		sends, room := int(node) < len(k.tier.live), k.room[node] > 0
		if room || !sends {
			arcs = append(arcs, exchange{hub, node, none, 0})
		}
		if room || sends {
			arcs = append(arcs, exchange{node, hub, none, 0})
		}
	}
	return arcs
}
