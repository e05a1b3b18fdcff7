package repair

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"evbench/internal/coloring"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/pods"
)

// fit moves messages into phases by place or squeeze and returns those that do not fit. Messages
// with few possible spines go first.
func (r *rework) fit(messages []uint32, by func(*room, uint32) bool) []uint32 {
	if len(messages) == 0 {
		return nil
	}
	slices.SortStableFunc(messages, func(m, n uint32) int { return cmp.Compare(r.traffic.Choices(m), r.traffic.Choices(n)) })
	x := r.room(messages)
	var rest []uint32
	for _, m := range messages {
		if !by(x, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

// A room says what is free in each phase.
type room struct {
	r       *rework
	words   int
	servers bitset     // by (rank, ranks + rank)·words: phases in which it does not send, receive
	nodes   bitset     // by node·words: phases in which the leaf has a link left
	links   []wires    // by phase
	held    [][]uint32 // by phase: messages between leaves
	pinners *sync.Pool // of repin
}

type bitset []uint64

func (b bitset) clear(row, words, i int) { b[row*words+i>>6] &^= 1 << (i & 63) }

// room returns the resources that the schedule leaves free, without the messages given.
func (r *rework) room(without []uint32) *room {
	phases := r.out.Phases
	w := (phases + 63) / 64
	x := &room{
		r: r, words: w, servers: ones(2*r.traffic.Ranks, phases), nodes: ones(2*r.f.Leaves, phases),
		links: make([]wires, phases), held: make([][]uint32, phases),
	}
	for p := range x.links {
		x.links[p] = newWires(r.traffic)
	}
	open := make(bitset, len(r.out.Slots)/64+1)
	for _, m := range without {
		open[m>>6] |= 1 << (m & 63)
	}
	for m, s := range r.out.Slots {
		if m/r.traffic.Ranks != m%r.traffic.Ranks && s != slots.Absent && open[m>>6]>>(m&63)&1 == 0 {
			x.take(uint32(m), s.Phase(), r.out.Way(uint32(m)))
		}
	}
	return x
}

// ones returns rows of as many set bits as there are phases.
func ones(rows, phases int) bitset {
	row := slices.Repeat(bitset{^uint64(0)}, (phases+63)/64)
	if phases%64 > 0 {
		row[len(row)-1] = 1<<(phases%64) - 1
	}
	return slices.Repeat(row, rows)
}

func (x *room) take(m uint32, phase int, w slots.Way) {
	src, dst := x.r.traffic.Ends(m)
	x.servers.clear(src, x.words, phase)
	x.servers.clear(x.r.traffic.Ranks+dst, x.words, phase)
	if w.Spine == none {
		return
	}
	a, b := x.r.traffic.Across(m)
	x.held[phase] = append(x.held[phase], m)
	x.links[phase].take(m, w)
	for _, node := range [2]int{int(a), x.r.f.Leaves + int(b)} {
		if x.links[phase].spines[node] == (coloring.ColorSet{}) {
			x.nodes.clear(node, x.words, phase)
		}
	}
}

// each calls f with the phases in which the servers of a message are idle and its leaves have links
// left, until f returns true. It reports whether f did.
func (x *room) each(m uint32, f func(phase int) bool) bool {
	src, dst := x.r.traffic.Ends(m)
	a, b := x.r.traffic.Across(m)
	for w := range x.words {
		free := x.servers[src*x.words+w] & x.servers[(x.r.traffic.Ranks+dst)*x.words+w] &
			x.nodes[int(a)*x.words+w] & x.nodes[(x.r.f.Leaves+int(b))*x.words+w]
		for ; free != 0; free &= free - 1 {
			if f(w*64 + bits.TrailingZeros64(free)) {
				return true
			}
		}
	}
	return false
}

// place puts a message into the first phase where its servers are idle and a spine
// is free at both leaves, and reports whether there is one.
func (x *room) place(m uint32) bool {
	return x.each(m, func(phase int) bool {
		w, ok := x.links[phase].first(m)
		if !ok {
			return false
		}
		x.r.out.Put(m, phase, w)
		x.take(m, phase, w)
		return true
	})
}

// squeeze is place, but where no such phase exists it tries to free a spine in a few others: it
// exchanges two spines along a chain of messages or, on three levels, chooses all paths of the
// phase anew.
func (x *room) squeeze(m uint32) bool {
	if x.place(m) {
		return true
	}
	const tries = 16
	n := 0
	return x.each(m, func(phase int) bool {
		if n++; n > tries {
			return false
		}
		all := append(slices.Clone(x.held[phase]), m)
		if x.r.f.Tops > 0 {
			return x.repin(phase, all)
		}
		g := x.r.traffic.Graph(all)
		color := make([]int16, len(all))
		for i, m := range x.held[phase] {
			color[i] = int16(x.r.out.Slots[m].Spine())
		}
		color[len(all)-1] = none
		if !g.Extend(color) {
			return false
		}
		ways := make([]slots.Way, len(all))
		for i, k := range color {
			ways[i] = slots.Way{Spine: int(k), Top: none}
		}
		x.redo(phase, all, ways)
		return true
	})
}

func (x *room) redo(phase int, messages []uint32, ways []slots.Way) {
	x.links[phase] = newWires(x.r.traffic)
	x.held[phase] = x.held[phase][:0]
	for i, m := range messages {
		x.r.out.Put(m, phase, ways[i])
		x.take(m, phase, ways[i])
	}
}

func (x *room) repin(phase int, messages []uint32) bool {
	if x.pinners == nil {
		x.pinners = pods.NewPinners(x.r.f)
	}
	ways := x.r.ways(x.pinners, messages, phase)
	for _, w := range ways {
		if w.Spine == none {
			return false
		}
	}
	x.redo(phase, messages, ways)
	return true
}
