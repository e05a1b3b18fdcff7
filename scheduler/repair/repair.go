package repair

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/traffic"
	"evbench/scheduler/pods"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Plan returns a schedule without contention made from a base, with a path for each message, and how
// many messages it has moved to another phase. pinned says that the base has paths. O(S²·log S) and a
// list colouring for each phase.
func Plan(base *slots.Table, pinned bool, t *topology.Tree, o schedules.Options) (out *slots.Table, moved int, err error) {
	x := traffic.New(base, t)
	r := &rework{f: x.F, traffic: x, o: o, base: base, pinned: pinned, out: base.Unpinned()}
	if err := r.traffic.Reachable(); err != nil {
		return nil, 0, err
	}
	if r.f.Tops > 0 {
		r.out.AddTops()
	}
	r.run()
	for i, x := range r.out.Slots {
		if i/r.traffic.Ranks != i%r.traffic.Ranks && x.Phase() != base.Slots[i].Phase() {
			moved++
		}
	}
	r.out.DropEmpty()
	r.out.GiveCables(&t.Live)
	return r.out, moved, nil
}

func (r *rework) run() {
	r.lost, r.tiers = make([]int32, 2*r.traffic.Ranks), r.tiersOf()
	kept := make([][]uint32, r.base.Phases)
	var moved []uint32
	for p := range kept {
		if !r.settled(p) {
			kept[p] = r.traffic.Of(p)
			for i := range r.tiers {
				kept[p], moved = r.keep(&r.tiers[i], kept[p], moved)
			}
		}
	}
	moved = append(moved, r.pin(kept, 0)...)
	if moved = r.fit(moved, (*room).place); len(moved) > 0 {
		from := r.out.Phases
		moved = r.pin(r.addPhases(moved), from)
	}
	for moved = r.fit(moved, (*room).squeeze); len(moved) > 0; moved = r.fit(moved, (*room).squeeze) {
		r.out.Phases += r.phasesFor(moved)
	}
}

// settled reports whether the base has spines that keep the messages of a phase apart, and copies
// them.
func (r *rework) settled(p int) bool {
	if !r.pinned {
		return false
	}
	free := newWires(r.traffic)
	for _, m := range r.traffic.Of(p) {
		w := r.base.Way(m)
		if !free.has(m, w) {
			return false
		}
		free.take(m, w)
	}
	for _, m := range r.traffic.Of(p) {
		r.out.Put(m, p, r.base.Way(m))
	}
	return true
}

// pin gives spines to as many messages of phases from..from+len(phases)-1 as it can, and returns
// the others.
func (r *rework) pin(phases [][]uint32, from int) []uint32 {
	over := make([][]uint32, len(phases))
	if r.f.Tops > 0 {
		pinners := pods.NewPinners(r.f)
		parallel.Each(r.o.Workers, len(phases), func(_, i int) { over[i] = r.pinPods(pinners, phases[i], from+i) })
		return slices.Concat(over...)
	}
	parallel.Each(r.o.Workers, len(phases), func(_, i int) {
		if len(phases[i]) == 0 {
			return
		}
		c := r.traffic.Graph(phases[i]).Color(coloring.ListOptions{Seed: r.o.Seed ^ uint64(from+i)<<32, Steps: 2000, Partial: true})
		for j, m := range phases[i] {
			if k := c.Color[j]; k >= 0 {
				r.out.Put(m, from+i, slots.Way{Spine: int(k), Top: none})
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
		src, dst := r.traffic.Ends(m)
		edges = append(edges, coloring.Edge{U: int32(src), V: int32(dst), N: 1, First: int32(i)})
	}
	phases, busy := r.phasesFor(messages), r.busy(messages)
	g := &coloring.Graph{Left: r.traffic.Ranks, Right: r.traffic.Ranks}
	for l := range r.f.Leaves {
		idle := spreadMoved(busy[r.f.First[l]:][:r.f.N[l]], phases, func(server, node, n int) {
			edges = append(edges, coloring.Edge{U: int32(r.f.First[l] + server), V: int32(g.Right + node), N: int32(n), First: -1})
		})
		g.Right += idle
		idle = spreadMoved(busy[r.traffic.Ranks+r.f.First[l]:][:r.f.N[l]], phases, func(server, node, n int) {
			edges = append(edges, coloring.Edge{U: int32(g.Left + node), V: int32(r.f.First[l] + server), N: int32(n), First: -1})
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
	r.out.Phases += phases
	return out
}

// spreadMoved gives the idle nodes of a leaf edges to its servers, one in each phase. It takes the
// messages of each server and returns the number of idle nodes.
func spreadMoved(messages []int32, count int, edge func(server, node, n int)) int {
	room, sum := make([]int, len(messages)), 0
	for i, n := range messages {
		room[i] = count - int(n)
		sum += int(n)
	}
	idle := len(messages) - fattree.CeilDiv(sum, count)
	phases.Pour(room, slices.Repeat([]int{count}, idle), idle*count, edge)
	return idle
}
