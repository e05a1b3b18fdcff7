package order

import (
	"fmt"
	"io"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan/promise"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/judge"
	"evbench/scheduler/order"
	"evbench/site/ports"
)

// A SizedPorts plan also says from which source port each fragment leaves. Least holds for any choice of the known ports.
type SizedPorts struct {
	*Sized
	of      *ports.Exchange
	path    []uint8
	weights []int64 // of links, which prove Least; nil: the bytes of the host of Bound.Link do
	linear  int64   // linear shift from the first port of each pair, with a barrier after each step
}

// MakeSizedPorts chooses ports by bytes, and where sizes are alike also as for messages of one size, and takes the choice
// over which the starts of MakeSized end first.
func MakeSizedPorts(of *ports.Exchange, bytes []int64, steps int) *SizedPorts {
	p := of.Sized(bytes)
	over := func(path []uint8) *Sized {
		x := order.New(p.Chosen(path), nil)
		return newSized(&Plan{Problem: x, Schedule: scheduler.NewPlan(x.Hosts, "none")}, bytes)
	}
	s := &SizedPorts{of: of, path: balance.Choose(p)}
	s.Sized = over(s.path)
	s.search(steps)
	if s.alike() {
		one := *p
		one.Bytes = nil
		path := balance.Make(&one, steps).Path
		other := over(path)
		if other.search(steps); other.Time < s.Time {
			s.Sized, s.path = other, path
		}
	}
	s.linear = over(make([]uint8, len(bytes))).ranks
	s.prove(p)
	return s
}

// finest is the greatest weight of a link: a share of a millionth counts.
const finest = 1e6

// prove sets Least: what the busiest host needs or, where that is more, what weights of links prove (scheduler.Proof), as whole numbers.
func (s *SizedPorts) prove(p *scheduler.Problem) {
	hosts, proof := 2*p.Hosts, p.Least()
	load := s.loads()[:hosts]
	most := slices.Max(load)
	s.Bound, s.Least = order.Bound{Time: most, Link: slices.Index(load, most)}, int64(most)
	weights, whole, all := make([]int64, len(p.Links)), make([]float64, len(p.Links)), 0.0
	for l := hosts; l < len(proof.Weights); l++ {
		weights[l] = int64(finest * proof.Weights[l] / slices.Max(proof.Weights))
		whole[l] = float64(weights[l])
		all += whole[l]
	}
	if time := ceil(p.Weigh(whole) / max(1, all)); time > s.Least {
		s.Least, s.weights = time, weights
	}
}

// WriteText writes the plan file, with rows "start src dst port bytes".
func (s *SizedPorts) WriteText(w io.Writer) error {
	proof, lines := s.of.LinkName(s.Bound.Link), ""
	for l, weight := range s.weights {
		if weight > 0 {
			proof, lines = judge.WeightKey, lines+fmt.Sprintf("# %s %d %s\n", judge.WeightKey, weight, s.of.LinkName(l))
		}
	}
	others := fmt.Sprintf("%s# schedule list\n# made %s\n# phases 0\n# time %d\n# bound %d %s\n", lines, s.Made, s.Time, s.Least, proof)
	return s.of.WriteText(w, s.path, s.sum(), others, func(w io.Writer, row func(m int) string) {
		for _, m := range s.fragments() {
			fmt.Fprintf(w, "%d %s %d\n", s.Start[m], row(m), s.Bytes[m])
		}
	})
}

// Answer says how long the exchange takes, how far that is from the least, and how long linear shift takes from ports that nobody chose.
func (s *SizedPorts) Answer() answer.Answer {
	why := fmt.Sprintf("%s %s %s bytes", s.of.LinkName(s.Bound.Link), [...]string{"sends", "receives"}[s.Bound.Link/s.Problem.Hosts], show.Commas(int(s.Bound.Time)))
	if s.weights != nil {
		why = "the links of x-weight need that, whichever of these ports fragments leave from"
	}
	m := promise.Promise{Kind: promise.Ports, Takes: float64(s.Time), Least: float64(s.Least)}
	f := m.Finding("with the ports of the plan the exchange takes "+promise.Amount(m.Takes)+" byte times",
		"; linear shift over plain ECMP, with a barrier after each step, takes "+promise.Amount(float64(s.linear)))
	return answer.Decide(answer.Takes, answer.Evidence{Findings: []answer.Finding{f}, Why: []string{why}})
}
