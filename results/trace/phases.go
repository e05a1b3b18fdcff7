package trace

import (
	"maps"
	"slices"

	"evbench/results"
)

// A phase is when it began, when its last transfer ended, and when all had left its
// barrier.
type phase struct {
	begin, transfers, barrier float64
	last                      PairOf // whose fragment came last
	received                  map[PairOf]float64
	came                      float64
	barriers                  int
}

// An exchange has its phases, in order.
type exchange struct {
	number uint64
	phases []phase
}

// exchanges returns those of which all barriers of all servers were kept, in order.
func (s *Slice) exchanges(phases, servers int) []exchange {
	all := map[uint64][]phase{}
	for _, x := range s.Spans {
		if x.Phase < 0 || x.Phase >= phases {
			continue
		}
		e := all[x.Exchange]
		if e == nil {
			e = make([]phase, phases)
			for i := range e {
				e[i] = phase{begin: x.BeginSec, received: map[PairOf]float64{}}
			}
			all[x.Exchange] = e
		}
		e[x.Phase].add(x)
	}
	var out []exchange
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(all[n], func(p phase) bool { return p.barriers != servers }) {
			out = append(out, exchange{n, all[n]})
		}
	}
	return out
}

func (p *phase) add(x results.Span) {
	if p.barriers == 0 && p.transfers == 0 || x.BeginSec < p.begin {
		p.begin = x.BeginSec
	}
	switch x.What {
	case results.SpanBarrier:
		p.barriers++
		p.barrier = max(p.barrier, x.EndSec)
		p.transfers = max(p.transfers, x.BeginSec)
	case results.SpanReceive:
		pair := PairOf{x.Peer, x.Server}
		p.received[pair] = x.EndSec - x.BeginSec
		p.transfers = max(p.transfers, x.EndSec)
		if x.EndSec > p.came {
			p.came, p.last = x.EndSec, pair
		}
	case results.SpanSend:
		p.transfers = max(p.transfers, x.EndSec)
	}
}
