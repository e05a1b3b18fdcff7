package order

import (
	"fmt"
	"io"
	"math"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan/promise"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/order"
	"evbench/site/ports"
)

// A SizedPorts plan also says from which source port each fragment leaves. Least holds for any choice of the known ports.
type SizedPorts struct {
	*Sized
	of      *ports.Exchange
	path    []uint8
	bound   float64 // Least, before it was rounded, by proof and weights
	host    int     // link of the busiest host
	proof   string
	weights string
	linear  int64 // linear shift from the first port of each pair, with a barrier after each step
}

// MakeSizedPorts chooses ports by bytes, and where sizes are alike also as for messages of one size, and takes the choice
// over which the starts of MakeSized end first.
func MakeSizedPorts(of *ports.Exchange, bytes []int64, steps int) *SizedPorts {
	p := of.Sized(bytes)
	over := func(path []uint8) *Sized {
		x := order.New(p.Chosen(path), nil)
		return newSized(&Plan{Problem: x, Schedule: scheduler.NewPlan(x.Hosts, "none")}, bytes)
	}
	s := &SizedPorts{of: of}
	try := func(path []uint8) {
		x := over(path)
		if x.search(steps); s.Sized == nil || x.Time < s.Time {
			s.Sized, s.path = x, path
		}
	}
	for _, path := range balance.Choices(p) {
		try(path)
	}
	if s.alike() {
		one := *p
		one.Bytes = nil
		try(balance.Make(&one, steps).Path)
	}
	s.linear = over(make([]uint8, len(bytes))).ranks
	s.bound, s.host, s.proof, s.weights = of.Bound(p)
	if s.Least = int64(s.bound); s.bound > float64(s.Least) {
		s.Least = ceil(s.bound)
	}
	return s
}

// WriteText writes the plan file, with rows "start src dst port bytes".
func (s *SizedPorts) WriteText(w io.Writer) error {
	others := fmt.Sprintf("%s# schedule list\n# made %s\n# phases 0\n# time %d\n# bound %d %s\n", s.weights, s.Made, s.Time, s.Least, s.proof)
	return s.of.WriteText(w, s.path, s.sum(), others, func(w io.Writer, row func(m int) string) {
		for _, m := range s.fragments() {
			fmt.Fprintf(w, "%d %s %d\n", s.Start[m], row(m), s.Bytes[m])
		}
	})
}

// Answer says how long the exchange takes, how far that is from the least, and how long linear shift takes from ports that nobody chose.
func (s *SizedPorts) Answer() answer.Answer {
	why := fmt.Sprintf("%s %s %s bytes", s.of.LinkName(s.host), [...]string{"sends", "receives"}[s.host/s.Problem.Hosts], show.Commas(int(math.Round(s.bound*s.Links[s.host].Rate()))))
	if s.weights != "" {
		why = "the links of x-weight need that, whichever of these ports fragments leave from"
	}
	m := promise.Promise{Kind: promise.Ports, Takes: float64(s.Time), Least: float64(s.Least)}
	f := m.Finding("with the ports of the plan the exchange takes "+promise.Amount(m.Takes)+" byte times",
		"; linear shift over plain ECMP, with a barrier after each step, takes "+promise.Amount(float64(s.linear)))
	return answer.Decide(answer.Takes, answer.Evidence{Findings: []answer.Finding{f}, Why: append([]string{why}, s.of.Slow()...)})
}
