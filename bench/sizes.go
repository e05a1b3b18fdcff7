package bench

import (
	"evbench/builder"
	"evbench/scenario"
	"evbench/scheduler/sizes"
)

// Matrix returns the sizes of the fragments of one exchange of a case, by source and
// builder (ranks): those that a run will have, and that simulations and predictions take.
// In exchange e, from 0 and warm-up included, rank r builds event e·S + r.
func Matrix(s *scenario.Scenario, c scenario.Case, exchange uint64) (*sizes.Matrix, error) {
	return sizes.Exchange(s.Tree, s.FragmentSizes(c).Of, exchange)
}

// builders returns the events that ranks build in one counted exchange after the other, to
// be asked for in this order. Where a server gets the next event when it has room, nobody
// knows them beforehand: they are taken as in an exchange.
func builders(s *scenario.Scenario, c scenario.Case) func(exchange int) []uint64 {
	n := s.Tree.Servers()
	events, first := make([]uint64, n), uint64(s.Warmup*n)
	b := builder.NewBalancer(n, s.FragmentSizes(c).Of)
	return func(exchange int) []uint64 {
		for rank := range events {
			events[rank] = first + uint64(exchange*n+rank)
		}
		if c.Assign != builder.AssignBalanced {
			return events
		}
		if exchange%builder.Ahead == 0 {
			b.Plan(events[0], builder.Ahead)
		}
		for rank := range events {
			events[rank], _ = b.Next(rank)
		}
		return events
	}
}

// Balance returns the mean over the most that servers receive while as many events are
// built as are known at a time (builder.Ahead of each), on average over the exchanges of a
// prediction: what a case would come to if nothing but the servers' links held it up.
func Balance(s *scenario.Scenario, c scenario.Case) float64 {
	n := s.Tree.Servers()
	sizes, events := s.FragmentSizes(c), builders(s, c)
	load := make([]float64, n)
	sum, most := 0.0, 0.0
	for e := range predictedExchanges {
		for rank, event := range events(e) {
			for src := range n {
				if src != rank {
					load[rank] += float64(sizes.Of(event, src))
				}
			}
		}
		if (e+1)%builder.Ahead == 0 {
			peak := 0.0
			for rank, x := range load {
				sum += x / float64(n)
				peak = max(peak, x)
				load[rank] = 0
			}
			most += peak
		}
	}
	return sum / most
}

// heaviest is how many bytes an event of a case brings its server at most. Where sizes are
// drawn it is twice the most of some exchanges: what is beyond that is rare.
func heaviest(s *scenario.Scenario, c scenario.Case) float64 {
	const looks = 1 << 20 // at fragments, at most
	n, sizes := s.Tree.Servers(), s.FragmentSizes(c)
	if sizes.Equal() {
		return float64(n-1) * float64(sizes.Mean)
	}
	most := 0
	for event := range uint64(max(1, min(predictedExchanges, looks/(n*n))) * n) {
		sum := 0
		for source := range n {
			sum += sizes.Of(event, source)
		}
		most = max(most, sum)
	}
	return min(2*float64(most), float64(n-1)*float64(sizes.Max()))
}
