package bench

import (
	"errors"
	"io"
	"time"

	"evbench/builder/modes"
	"evbench/controller"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// An Orderer plans cases of mode ordered, which follow windows of exchanges in place of phases. The
// other parts of such a case, its links and tables, are those of its plan with phases.
type Orderer interface {
	// First plans and judges the first counted window of a case, on a tree.
	First(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (Window, error)
	// Windows plans and judges all windows of a case on a tree during the run, since sizes are known
	// one or two windows ahead. first is what First returned, or nil.
	Windows(s *scenario.Scenario, c scenario.Case, t *topology.Tree, first Window) controller.Windows
	// Efficiency predicts the efficiency of a case that follows plans for the tree of p throughout.
	Efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error)
}

// A Window is the plan of a window.
type Window interface {
	Hash() string
	WriteText(w io.Writer) error // as a file
}

var errNoOrderer = errors.New("mode " + string(modes.Ordered) + ": this program has no planner for it (evbench/model/ordered)")

func (x Parts) prepareOrdered(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (Planned, error) {
	if x.Ordered == nil {
		return Planned{}, errNoOrderer
	}
	p, err := x.PlanFor(s, c, t)
	if err != nil {
		return Planned{}, err
	}
	w, err := x.Ordered.First(s, c, t)
	if err != nil {
		return Planned{}, err
	}
	efficiency, err := x.predict(s, c, p)
	if err == nil {
		c.Load, efficiency, err = offered(s, c, efficiency)
	}
	return Planned{Case: c, Plan: p, Ordered: w, parts: x, Prediction: results.Prediction{
		Case: c.Name, Schedule: c.Schedule, Objective: string(s.Objective(c)), Routing: p.Routing, PlanHash: w.Hash(), Efficiency: efficiency, Made: time.Now().UTC(),
	}}, err
}

func (x Parts) efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	if c.Mode == modes.Ordered {
		return x.Ordered.Efficiency(s, c, p)
	}
	return efficiencyOf(s, c, p), nil
}
