package scheduler

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// repaired returns a schedule without contention made from a base, with a path for each message, and
// how many messages it has moved to another phase. pinned says that the base has paths. Messages that the live links cannot carry in a phase move, mostly to phases
// added at the end, as in the fault-adaptive schedule FS (thesis 5.4.3, Algorithm 3):
//
//  1. Each phase keeps what the live links of its leaves, and pods, carry: a largest
//     b-matching, changed where that spreads the moved messages more evenly.
//  2. The messages kept get spines by list colouring (Pin). What it leaves over moves too.
//  3. A moved message goes where a phase has its servers and a spine free.
//  4. The others go into as few added phases as servers and leaves allow, by König's theorem
//     (addPhases), and get spines as in 2. What is left over goes through 3 again.
//
// FORS is optimal, this result is not. O(S²·log S) and a list colouring for each phase. On three
// levels planes are the spines, and each message with a plane also gets a top switch.
func repaired(base *slotTable, pinned bool, t *topology.Tree, o schedules.Options) (out *slotTable, moved int, err error) {
	x := newTraffic(base, t)
	r := &rework{f: x.f, traffic: x, o: o, base: base, pinned: pinned, out: base.unpinned()}
	if err := r.traffic.reachable(); err != nil {
		return nil, 0, err
	}
	if r.f.tops > 0 {
		r.out.addTops()
	}
	r.run()
	for i, x := range r.out.slots {
		if i/r.traffic.ranks != i%r.traffic.ranks && x.phase() != base.slots[i].phase() {
			moved++
		}
	}
	r.out.dropEmpty()
	r.out.deal(t)
	return r.out, moved, nil
}

// A rework is a repair in progress.
type rework struct {
	f       *fabric
	traffic *traffic
	o       schedules.Options
	base    *slotTable
	pinned  bool // base has paths
	out     *slotTable
	lost    []int32 // messages moved, by source rank and by ranks + destination rank
	tiers   []tier  // leaves; on three levels pods as well
}

func (r *rework) run() {
	r.lost, r.tiers = make([]int32, 2*r.traffic.ranks), r.tiersOf()
	kept := make([][]uint32, r.base.phases)
	var moved []uint32
	for p := range kept {
		if !r.settled(p) {
			kept[p] = r.traffic.of(p)
			for i := range r.tiers {
				kept[p], moved = r.keep(&r.tiers[i], kept[p], moved)
			}
		}
	}
	moved = append(moved, r.pin(kept, 0)...)
	if moved = r.fit(moved, (*room).place); len(moved) > 0 {
		from := r.out.phases
		moved = r.pin(r.addPhases(moved), from)
	}
	for moved = r.fit(moved, (*room).squeeze); len(moved) > 0; moved = r.fit(moved, (*room).squeeze) {
		r.out.phases += r.phasesFor(moved)
	}
}

// settled reports whether the base has spines that keep the messages of a phase apart, and copies
// them.
func (r *rework) settled(p int) bool {
	if !r.pinned {
		return false
	}
	free := newWires(r.traffic)
	for _, m := range r.traffic.of(p) {
		w := r.base.way(m)
		if !free.has(m, w) {
			return false
		}
		free.take(m, w)
	}
	for _, m := range r.traffic.of(p) {
		r.out.put(m, p, r.base.way(m))
	}
	return true
}

// pin gives spines to as many messages of phases from..from+len(phases)-1 as it can, and returns
// the others.
func (r *rework) pin(phases [][]uint32, from int) []uint32 {
	over := make([][]uint32, len(phases))
	if r.f.tops > 0 {
		pinners := newPinners(r.f)
		parallel.Each(r.o.Workers, len(phases), func(_, i int) { over[i] = r.pinPods(pinners, phases[i], from+i) })
		return slices.Concat(over...)
	}
	parallel.Each(r.o.Workers, len(phases), func(_, i int) {
		if len(phases[i]) == 0 {
			return
		}
		c := r.traffic.graph(phases[i]).Color(coloring.ListOptions{Seed: r.o.Seed ^ uint64(from+i)<<32, Steps: 2000, Partial: true})
		for j, m := range phases[i] {
			if k := c.Color[j]; k >= 0 {
				r.out.put(m, from+i, way{int(k), none})
			} else {
				over[i] = append(over[i], m)
			}
		}
	})
	return slices.Concat(over...)
}

// addPhases adds phases to the schedule and spreads messages over them: as few as the server with
// most messages, and the leaf with most for its live links, need.
//
// The messages are edges from source servers to destination servers, phases are colours. A
// leaf of n servers whose messages need w in each phase on average, rounded up, gets n-w idle
// nodes on the other side with an edge to some server of the leaf in each phase: at most w
// servers send. No node has more edges than there are phases (König).
func (r *rework) addPhases(messages []uint32) [][]uint32 {
	edges := make([]coloring.Edge, 0, len(messages))
	for i, m := range messages {
		src, dst := r.traffic.ends(m)
		edges = append(edges, coloring.Edge{U: int32(src), V: int32(dst), N: 1, First: int32(i)})
	}
	phases, busy := r.phasesFor(messages), r.busy(messages)
	g := &coloring.Graph{Left: r.traffic.ranks, Right: r.traffic.ranks}
	for l := range r.f.leaves {
		idle := spreadMoved(busy[r.f.first[l]:][:r.f.n[l]], phases, func(server, node, n int) {
			edges = append(edges, coloring.Edge{U: int32(r.f.first[l] + server), V: int32(g.Right + node), N: int32(n), First: -1})
		})
		g.Right += idle
		idle = spreadMoved(busy[r.traffic.ranks+r.f.first[l]:][:r.f.n[l]], phases, func(server, node, n int) {
			edges = append(edges, coloring.Edge{U: int32(g.Left + node), V: int32(r.f.first[l] + server), N: int32(n), First: -1})
		})
		g.Left += idle
	}
	g.Edges = edges
	color := make([]int32, len(messages))
	g.Color(phases, coloring.Options{Seed: r.o.Seed, Workers: parallel.Workers(r.o.Workers)}, func(unit, c int32) { color[unit] = c })
	out := make([][]uint32, phases)
	for i, m := range messages {
		out[color[i]] = append(out[color[i]], m)
	}
	r.out.phases += phases
	return out
}

// phasesFor returns how many phases messages need for their servers, leaves and pairs of leaves.
func (r *rework) phasesFor(messages []uint32) int {
	busy := r.busy(messages)
	phases := int(slices.Max(busy))
	pairs := make([]int, r.f.leaves*r.f.leaves)
	for _, m := range messages {
		a, b := r.traffic.across(m)
		pairs[int(a)*r.f.leaves+int(b)]++
	}
	for i, n := range pairs {
		if n > 0 {
			first := uint32(r.f.first[i/r.f.leaves]*r.traffic.ranks + r.f.first[i%r.f.leaves])
			phases = max(phases, ceilDiv(n, r.traffic.choices(first)))
		}
	}
	for i := range r.tiers {
		t := &r.tiers[i]
		for node, n := range t.count(messages) {
			if n > 0 {
				phases = max(phases, ceilDiv(n, t.live[node%len(t.live)]))
			}
		}
	}
	return phases
}

// busy returns how many of the messages each server sends, and, at ranks + its rank, receives.
func (r *rework) busy(messages []uint32) []int32 {
	n := make([]int32, 2*r.traffic.ranks)
	for _, m := range messages {
		src, dst := r.traffic.ends(m)
		n[src]++
		n[r.traffic.ranks+dst]++
	}
	return n
}

// spreadMoved gives the idle nodes of a leaf edges to its servers, one in each phase. It takes the
// messages of each server and returns the number of idle nodes.
func spreadMoved(messages []int32, phases int, edge func(server, node, n int)) int {
	room, sum := make([]int, len(messages)), 0
	for i, n := range messages {
		room[i] = phases - int(n)
		sum += int(n)
	}
	idle := len(messages) - ceilDiv(sum, phases)
	pour(room, slices.Repeat([]int{phases}, idle), idle*phases, edge)
	return idle
}
