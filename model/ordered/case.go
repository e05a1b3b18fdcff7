package ordered

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/bench"
	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/model/sim"
	"evbench/model/sizes"
	"evbench/plan"
	"evbench/scenario"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/scheduler/list"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// WindowPlan plans a window of an ordered case: exchanges exchanges from first on, counted from 0
// with the warm-up, on the tree of a chain, after its windows. Runs, simulations and predictions
// use the same. Fragments are not split: workers send them whole. If all fragments have one size,
// and for the first counted window, ports and links count as free at the start: the plan file has
// that window.
func WindowPlan(s *scenario.Scenario, c scenario.Case, after *list.Chain, first uint64, exchanges int) (*list.Plan, error) {
	var window []*list.Matrix
	for e := range exchanges {
		m, err := Matrix(s, c, first+uint64(e))
		if err != nil {
			return nil, err
		}
		window = append(window, m)
	}
	o := list.Options{Seed: s.Seed, Overhead: int64((s.Sim.Round + s.Sim.Overhead).Seconds() * s.Fabric.BitPerSec() / 8)}
	if c.Schedule == schedules.FORS {
		o.Order = list.OrderFORS
	}
	if s.Objective(c) == schedules.FewestPaths {
		var err error
		if o.Paths, _, err = scheduler.FORS(after.Tree(), scheduler.Options{Seed: s.Seed, Objective: schedules.FewestPaths}); err != nil {
			return nil, err
		}
	}
	if first > s.Warmup && !s.FragmentSizes(c).Equal() {
		o.After = after
	}
	return list.MakeWindow(after.Tree(), window, o)
}

// Job converts a case, ordered or not, for the models, without the cost of messages beside their
// bytes.
func Job(s *scenario.Scenario, c scenario.Case, p *plan.Plan, window int) sim.Job {
	of := s.FragmentSizes(c)
	j := sim.Job{
		Setting: c.Setting, Common: s.Common, Plan: p, Size: of.Of, Header: builder.HeaderSize, Fragment: int(s.Event.Fragment), Equal: of.Equal(), BitPerSec: s.Fabric.BitPerSec(),
		Windows: sim.Windows{Order: func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error) {
			return WindowPlan(s, c, after, first, exchanges)
		}},
	}
	j.Window = window
	j.Skip = func(g load.Gap) { of.Gaps, c.Sizes = append(of.Gaps, g), &of.Distribution }
	return j
}

// messages is about how many messages the prediction of an ordered case covers, but at least two
// windows.
const messages = 1 << 18

// Efficiency implements bench.Orderer: the longest path over all exchanges of the case, or over as
// many as a prediction covers.
func (Orderer) Efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	return efficiency(s, c, p, c.Window)
}

func efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan, window int) (float64, error) {
	j := Job(s, c, p, window)
	j.Mode, j.Load = modes.Ordered, load.Load{} // what the plan carries
	n := p.Tree.Servers()
	most := max(2*window, min(bench.PredictedExchanges, messages/(n*n)))
	lasts := float64(most)
	if j.BitPerSec > 0 {
		exchange := 8 * float64(p.Tree.MostMessages()) * float64(int(s.Event.Fragment)+j.Header) / j.BitPerSec
		lasts = c.Duration.Seconds() / exchange
	} else {
		j.BitPerSec = 8e9
	}
	if lasts >= float64(most) {
		j.Exchanges = most
	}
	o, err := sim.Phase(context.Background(), &j, nil)
	if err != nil {
		return 0, err
	}
	return min(1, j.Efficiency(o)), nil // times are whole nanoseconds
}

// ReadMatrix reads the sizes of one exchange. The file names servers by position, with or without
// "server", or as hosts are named.
func ReadMatrix(r io.Reader, t *topology.Shape, hosts []plan.Host) ([]*list.Matrix, error) {
	stated, err := sizes.ReadMatrix(r)
	if err != nil {
		return nil, err
	}
	m, err := stated.For(t.Servers(), func(name string) (int, bool) {
		if rank := slices.IndexFunc(hosts, func(h plan.Host) bool { return h.Name == name }); rank >= 0 {
			return rank, true
		}
		position, err := strconv.Atoi(strings.TrimPrefix(name, "server"))
		if err != nil {
			return 0, false
		}
		return t.Rank(position)
	})
	return []*list.Matrix{m}, err
}

// StatedSizes lists the fragments of exchanges for the judge, which names servers by position.
func StatedSizes(t *topology.Shape, window []*list.Matrix) []judge.Size {
	s := t.Servers()
	list := make([]judge.Size, 0, len(window)*s*(s-1))
	for e, m := range window {
		for at := range s * s {
			if i, j := at/s, at%s; m.Size(i, j) > 0 {
				list = append(list, judge.Size{Src: int32(t.Position(i)), Dst: int32(t.Position(j)), Bytes: m.Size(i, j), Exchange: int32(e)})
			}
		}
	}
	return list
}

// Matrix returns the sizes of the fragments of one exchange of a case, by source and builder
// (ranks): the same in runs, simulations and predictions. In exchange e, from 0 and warm-up
// included, rank r builds event e·S + r; if not all build, see builder.Roles.
func Matrix(s *scenario.Scenario, c scenario.Case, exchange uint64) (*list.Matrix, error) {
	of := s.FragmentSizes(c)
	if of.All() {
		return list.Exchange(s.Tree.Shape, of.Of, exchange)
	}
	n := uint64(of.Servers)
	return list.Exchange(s.Tree.Shape, func(event uint64, source int) int {
		if dst := int(event % n); !s.Tree.Meets(source, dst) {
			return 0
		} else {
			return of.Of(of.Event(event/n, dst), source)
		}
	}, exchange)
}
