package judge

import (
	"errors"
	"slices"

	"evbench/plan"
	"evbench/plan/best"
	"evbench/plan/promise"
	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/scheduler/order"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Planned is the result of the schedule fors.
type Planned struct {
	Schedule   string  `json:"schedule"`
	Phases     int     `json:"phases,omitempty"`
	Efficiency float64 `json:"efficiency"`
	// Avoids are slow links that the schedule takes for dead. Uses are slow links that make their
	// phases longer.
	Avoids []string `json:"avoids,omitempty"`
	Uses   []string `json:"uses,omitempty"`
}

// planned makes the schedule fors. It uses all slow links, or takes those below one of their rates
// for dead, whichever takes the least time; nil: none was made.
func (f *fabric) planned(faults []fault, say *notes) *Planned {
	switch {
	case f.net.Adaptive: // a plan has its own paths
		return nil
	case f.tree.Servers() > planHosts:
		say.add("no schedule was planned: more than %d hosts; evbench plan does it", planHosts)
		return nil
	case f.traffic.bytes != nil:
		return f.sizedPlan(say)
	}
	p, err := best.Tree(f.tree, plan.Options{Schedule: schedules.FORS}, f.places.Rates())
	if err != nil {
		say.add("no schedule was planned: %v", err)
		return nil
	}
	out := &Planned{Schedule: p.Schedule.Name}
	out.Phases, out.Efficiency = f.time(p.Schedule, p.Rates)
	named := func(cables []promise.Cable) (names []string) { // those slower than others of their storey
		for _, c := range cables {
			if slices.ContainsFunc(faults, func(x fault) bool { return x.share > 0 && x.name == c.Name }) {
				names = append(names, c.Name)
			}
		}
		return names
	}
	out.Avoids, out.Uses = named(p.Promise.Slow.Avoids), named(p.Promise.Slow.Uses)
	return out
}

// time returns how many phases of a schedule have messages of the exchange, and the share of the
// link rate that they allow: a phase is as long as its slowest link needs.
func (f *fabric) time(s *scheduler.Schedule, r topology.Rates) (phases int, efficiency float64) {
	if f.even && f.traffic.plain() {
		return s.Phases, float64(f.traffic.most) / float64(s.Phases)
	}
	phases, time := order.TimeOf(s, f.tree, r, func(src, dst int) bool { return f.traffic.size(f.job[src], f.job[dst]) > 0 })
	return phases, float64(f.traffic.most) / time
}

// sizedPlan plans fragments of these sizes, without phases.
func (f *fabric) sizedPlan(say *notes) *Planned {
	m, err := list.NewMatrix(f.tree.Servers())
	if err == nil && !f.even {
		err = errors.New("links have different rates")
	}
	for i := 0; err == nil && i < len(f.job); i++ {
		for j := 0; err == nil && j < len(f.job); j++ {
			if n := f.traffic.size(f.job[i], f.job[j]); n > 0 {
				err = m.Set(i, j, n)
			}
		}
	}
	var p *list.Plan
	if err == nil {
		p, err = list.Make(f.tree, m, list.Options{Split: true})
	}
	if err != nil {
		say.add("no order was planned: %v", err)
		return nil
	}
	return &Planned{Schedule: "ordered", Efficiency: float64(f.traffic.most) / float64(p.Time)}
}
