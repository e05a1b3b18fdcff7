package bench

import (
	"evbench/results"
	"evbench/topology"
)

// carried returns what each direction of each cable carried between two
// readings of a fabric's counters, with what the plan puts there. planned is
// nil where the plan does not know.
func carried(p Planned, repeat int, before, after []results.LinkCount, planned []float64) []results.LinkCount {
	start := make(map[[2]string]results.LinkCount, len(before))
	for _, c := range before {
		start[[2]string{c.Link, c.Direction}] = c
	}
	want := map[[2]string]uint64{}
	for w, bytes := range planned {
		link, direction := p.Plan.Tree.WireName(topology.Wire(w))
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

// plannedBytes is what the counted events put on each wire: every event that a
// server built brought it one fragment of each other server. nil where paths
// are not static or changed in the middle. events is by rank.
func plannedBytes(p Planned, events []uint64, fragment float64) []float64 {
	if len(p.Timed) > 0 {
		return nil
	}
	load, ok := p.Plan.Loads(func(_, dst int) float64 { return float64(events[dst]) * fragment })
	if !ok {
		return nil
	}
	return load
}

// drops adds up the packets lost.
func drops(links []results.LinkCount) (n uint64) {
	for _, l := range links {
		n += l.Drops
	}
	return n
}
