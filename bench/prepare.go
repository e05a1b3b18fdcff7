package bench

import (
	"bytes"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/topology"
	"evbench/verify"
)

// A Planned case is a case with its plan and what the plan promises.
type Planned struct {
	scenario.Case
	Plan       *plan.Plan
	Prediction results.Prediction
}

// Prepare plans every case of a scenario, the controls included, and has every
// plan judged; nothing is run. The controls are the first and the last.
func Prepare(s *scenario.Scenario) ([]Planned, error) {
	var out []Planned
	for _, c := range withControls(s) {
		p, err := prepare(s, c)
		if err != nil {
			return nil, fmt.Errorf("case %q: %w", c.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// withControls puts a healthy synchronised linear shift over ftree before the
// first and after the last case. On leaves that are not full its own prediction
// is below 1; it is judged against that.
func withControls(s *scenario.Scenario) []scenario.Case {
	if !s.Control {
		return s.Cases
	}
	control := scenario.Case{
		Mode: scenario.Sync, Barrier: "tournament", Schedule: "linear-shift", Routing: routing.Ftree,
		Credits: 1, Duration: s.Duration, Control: true,
	}
	first, last := control, control
	first.Name, last.Name = "control (before)", "control (after)"
	cases := append([]scenario.Case{first}, s.Cases...)
	return append(cases, last)
}

func prepare(s *scenario.Scenario, c scenario.Case) (Planned, error) {
	t, err := s.Tree.Without(c.Failures...)
	if err != nil {
		return Planned{}, err
	}
	p, err := plan.Build(t, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Seed: s.Seed})
	if err != nil {
		return Planned{}, err
	}
	if err := judge(p); err != nil {
		return Planned{}, err
	}
	efficiency, err := predict(s, c, p)
	if err != nil {
		return Planned{}, err
	}
	return Planned{Case: c, Plan: p, Prediction: results.Prediction{
		Case: c.Name, Schedule: c.Schedule, Routing: p.Routing, PlanHash: p.Hash(),
		Phases: p.Phases(), Bound: p.Bound.Phases, Efficiency: efficiency, Made: time.Now().UTC(),
	}}, nil
}

// judge has verify, which shares no code with the planner, read the plan from
// its file form. Contention is an offence only where the plan promises none.
func judge(p *plan.Plan) error {
	if p.Schedule == nil {
		return nil
	}
	var file bytes.Buffer
	if err := p.WriteText(&file); err != nil {
		return err
	}
	f, err := verify.Read(&file)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := verify.Check(f, verify.Options{AllowContention: !p.Pinned(), Bound: true}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}

// predictedExchanges is over how many exchanges the prediction averages when
// fragments differ in size.
const predictedExchanges = 8

// predict returns the efficiency that the link loads allow. Of a case with timed
// failures it is the mean over time: between two changes the tables are those of
// the links that are dead then.
func predict(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	if len(c.Timed) == 0 {
		return efficiencyOf(s, c, p), nil
	}
	sum, t := 0.0, p.Tree
	at := time.Duration(0)
	dead := map[topology.Link]bool{}
	for _, st := range append(steps(c.Timed, c.Duration), step{at: c.Duration, change: true}) {
		if !st.change {
			continue
		}
		q, err := plan.Build(t, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Seed: s.Seed})
		if err != nil {
			return 0, err
		}
		sum += efficiencyOf(s, c, q) * (st.at - at).Seconds()
		at = st.at
		if t, err = after(p.Tree, dead, st); err != nil {
			return 0, err
		}
	}
	return sum / c.Duration.Seconds(), nil
}

// after returns the tree once a step has been done; dead is what timed failures
// hold down.
func after(t *topology.Tree, dead map[topology.Link]bool, s step) (*topology.Tree, error) {
	for _, l := range s.links {
		dead[l] = !s.up
	}
	var links []topology.Link
	for l, down := range dead {
		if down {
			links = append(links, l)
		}
	}
	return t.Without(links...)
}

func efficiencyOf(s *scenario.Scenario, c scenario.Case, p *plan.Plan) float64 {
	var sum plan.Cost
	n := 1
	if s.Event.Spread > 0 {
		n = predictedExchanges
	}
	for e := range n {
		cost := p.Cost(weight(s, e), s.Seed)
		sum.Ideal += cost.Ideal
		sum.Duration += cost.Duration
		sum.Busiest += cost.Busiest
	}
	if c.Mode == scenario.Sync {
		return sum.Synchronised()
	}
	return sum.Unsynchronised()
}

// weight is the size of each message of one exchange in mean fragments.
func weight(s *scenario.Scenario, exchange int) plan.Weight {
	if s.Event.Spread == 0 {
		return plan.Equal
	}
	sizes := sizing(s)
	n := s.Tree.Servers()
	return func(src, dst int) float64 {
		return float64(sizes.Of(uint64(exchange*n+dst), src)) / float64(s.Event.Fragment)
	}
}

func sizing(s *scenario.Scenario) builder.Sizes {
	return builder.Sizes{Mean: int(s.Event.Fragment), Spread: s.Event.Spread, Seed: s.Seed}
}

// deadNames names the links that are dead from the start of a case.
func deadNames(links []topology.Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return names
}
