package bench

import (
	"evbench/builder"
	"evbench/scenario"
)

// builders returns the events that ranks build in successive counted exchanges, by rank; call the
// result in this order. Ranks that build none have 0. If a server gets its next event when it has
// room, the events are unknown beforehand: they are taken as in an exchange.
func builders(s *scenario.Scenario, c scenario.Case) func(exchange int) []uint64 {
	of := s.FragmentSizes(c)
	events := make([]uint64, of.Servers)
	b := builder.NewBalancer(of.Roles, of.Of)
	return func(exchange int) []uint64 {
		for place := range of.Events() {
			rank := of.Builder(place)
			events[rank] = of.Event(s.Warmup+uint64(exchange), rank)
		}
		if c.Assign != builder.AssignBalanced {
			return events
		}
		if exchange%builder.Ahead == 0 {
			b.Plan(events[of.Builder(0)], builder.Ahead)
		}
		for place := range of.Events() {
			rank := of.Builder(place)
			events[rank], _ = b.Next(rank)
		}
		return events
	}
}

// Balance returns the mean divided by the largest number of bytes that a server receives while
// builder.Ahead events of each server are built, averaged over the exchanges of a prediction: the
// efficiency of a case if only the servers' links limited it.
func Balance(s *scenario.Scenario, c scenario.Case) float64 {
	n := s.Tree.Servers()
	sizes, events := s.FragmentSizes(c), builders(s, c)
	load := make([]float64, n)
	sum, most := 0.0, 0.0
	for e := range PredictedExchanges {
		now := events(e)
		for src, dst := range s.Tree.Pairs {
			load[dst] += float64(sizes.Of(now[dst], src))
		}
		if (e+1)%builder.Ahead == 0 {
			peak := 0.0
			for rank, x := range load {
				sum += x / float64(sizes.Events())
				peak = max(peak, x)
				load[rank] = 0
			}
			most += peak
		}
	}
	return sum / most
}

// heaviest is the most bytes that an event of a case brings its server. If sizes are drawn it is
// twice the maximum over some exchanges: larger events are rare.
func heaviest(s *scenario.Scenario, c scenario.Case) float64 {
	const looks = 1 << 20 // fragments, at most
	n, sizes := s.Tree.Servers(), s.FragmentSizes(c)
	others := 0
	for rank := range n {
		if sizes.Builds(rank) {
			others = max(others, sizes.Others(rank))
		}
	}
	if sizes.Equal() {
		return float64(others) * float64(sizes.Mean)
	}
	most := 0
	for event := range uint64(max(1, min(PredictedExchanges, looks/(n*n))) * n) {
		sum := 0
		for source := range n {
			if sizes.Reads(source) {
				sum += sizes.Of(event, source)
			}
		}
		most = max(most, sum)
	}
	return min(2*float64(most), float64(others)*float64(sizes.Max()))
}
