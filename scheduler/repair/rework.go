package repair

import (
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/traffic"
	"evbench/scheduler/schedules"
)

// A rework is a repair in progress.
type rework struct {
	f       *fattree.Tree
	traffic *traffic.Traffic
	o       schedules.Options
	base    *slots.Table
	pinned  bool // base has paths
	out     *slots.Table
	lost    []int32 // messages moved, by source rank and by ranks + destination rank
	tiers   []tier  // leaves; on three levels pods as well
}

// none stands for no spine or message.
const none = -1

// phasesFor returns how many phases messages need for their servers, leaves and pairs of leaves.
func (r *rework) phasesFor(messages []uint32) int {
	busy := r.busy(messages)
	phases := int(slices.Max(busy))
	pairs := make([]int, r.f.Leaves*r.f.Leaves)
	for _, m := range messages {
		a, b := r.traffic.Across(m)
		pairs[int(a)*r.f.Leaves+int(b)]++
	}
	for i, n := range pairs {
		if n > 0 {
			first := uint32(r.f.First[i/r.f.Leaves]*r.traffic.Ranks + r.f.First[i%r.f.Leaves])
			phases = max(phases, fattree.CeilDiv(n, r.traffic.Choices(first)))
		}
	}
	for i := range r.tiers {
		t := &r.tiers[i]
		for node, n := range t.count(messages) {
			if n > 0 {
				phases = max(phases, fattree.CeilDiv(n, t.live[node%len(t.live)]))
			}
		}
	}
	return phases
}

// busy returns how many of the messages each server sends, and, at ranks + its rank, receives.
func (r *rework) busy(messages []uint32) []int32 {
	n := make([]int32, 2*r.traffic.Ranks)
	for _, m := range messages {
		src, dst := r.traffic.Ends(m)
		n[src]++
		n[r.traffic.Ranks+dst]++
	}
	return n
}

// A tier is leaves, or pods, bounded by their live links upwards.
type tier struct {
	live  []int // links, of each
	of    func(m uint32) (u, v int32)
	short []int32 // phases missing, by who sends and by len(live) + who receives
}

// count returns how many messages each leaf or pod sends to others, and, at
// len(live) + its number, receives.
func (t *tier) count(messages []uint32) []int {
	n := make([]int, 2*len(t.live))
	for _, m := range messages {
		if u, v := t.of(m); u != v {
			n[u]++
			n[len(t.live)+int(v)]++
		}
	}
	return n
}
