package bench

import (
	"slices"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
)

// carried returns the traffic of each direction of each cable between two readings of a fabric's
// counters, beside the planned traffic. planned is nil if the plan does not determine it.
func carried(p Planned, repeat int, before, after []results.LinkCount, planned []float64) []results.LinkCount {
	start := make(map[[2]string]results.LinkCount, len(before))
	for _, c := range before {
		start[[2]string{c.Link, c.Direction}] = c
	}
	want := map[[2]string]uint64{}
	for w, bytes := range planned {
		link, direction := p.Plan.WireName(w)
		want[[2]string{link, direction}] = uint64(bytes + 0.5)
	}
	out := make([]results.LinkCount, len(after))
	for i, c := range after {
		key := [2]string{c.Link, c.Direction}
		s := start[key]
		c.Case, c.Repeat = p.Name, repeat
		c.Bytes -= s.Bytes
		c.Packets -= s.Packets
		c.Drops -= s.Drops
		c.PlannedBytes, c.Planned = want[key], planned != nil
		out[i] = c
	}
	return out
}

// plannedBytes is the traffic of the counted events on each wire: every event that a server built
// brought it one fragment of each other reader. between gives the bytes for a pair of ranks. nil if
// paths are not static or changed during the case, as between windows of an ordered case, and if
// between is nil.
func plannedBytes(p Planned, between plan.Weight) []float64 {
	if len(p.Timed) > 0 || between == nil || p.Mode == modes.Ordered {
		return nil
	}
	load, ok := p.Plan.Loads(between)
	if !ok {
		return nil
	}
	return load
}

// between returns how many bytes the counted events move from one rank to another, including
// headers. events is by rank. If fragments differ in size and events are assigned during the run,
// by other than their sizes, the bytes are unknown: nil.
func between(s *scenario.Scenario, p Planned, events []uint64) plan.Weight {
	sizes := s.FragmentSizes(p.Case)
	switch {
	case sizes.Equal():
		return func(_, dst int) float64 { return float64(events[dst]) * float64(sizes.Mean+builder.HeaderSize) }
	case p.Mode == modes.Unsync && p.Assign != builder.AssignBalanced:
		return nil
	}
	n, built := s.Tree.Servers(), builders(s, p.Case)
	sum := make([]float64, n*n)
	for e := range int(slices.Max(events)) {
		for dst, event := range built(e) {
			for src := 0; uint64(e) < events[dst] && src < n; src++ {
				sum[src*n+dst] += float64(sizes.Of(event, src) + builder.HeaderSize)
			}
		}
	}
	return func(src, dst int) float64 { return sum[src*n+dst] }
}

func drops(links []results.LinkCount) (n uint64) {
	return lists.Sum(links, func(l results.LinkCount) uint64 { return l.Drops })
}
