package tables

import (
	"fmt"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

// The models of Slowdown.
const (
	Count  = "count"  // thesis 5.3, Algorithm 2, corrected: messages of a leaf over its live links
	Routed = "routed" // the link loads of real plans
)

// A SlowdownRow is one bandwidth reduction.
type SlowdownRow struct {
	Reduction int
	All       bool // all leaves are reduced, not only leaf 0
	// Durations in message times: linear-shift, bandwidth-optimal, and the
	// adapted schedule (count: the thesis' fault-adaptive one; routed: fors).
	LinearShift, BandwidthOptimal, Adapted int
	// Ideal is the divisor of durations: S in the count model, as in the thesis; S-1, the phases
	// that every exchange needs, in the routed one.
	Ideal int
	// Phases of the adapted schedule, and of the same without failures.
	Phases, HealthyPhases int
}

// Slowdown returns one row per reduction f = 0..spines-1 with leaf 0 reduced, and
// then one with all leaves reduced. t is a tree without dead links.
//
// In the routed model linear-shift goes over ftree tables, each message of bandwidth-optimal
// through the spine that suits its phase (see spread), and fors through its own. The schedules come
// from scheduler; seed is the seed of fors.
func Slowdown(run Run, t *topology.Tree, model string, seed uint64) ([]SlowdownRow, error) {
	if len(t.Dead()) > 0 {
		return nil, fmt.Errorf("slowdown: %d links are dead already; the table removes links itself", len(t.Dead()))
	}
	if err := plannable(t.Shape); err != nil {
		return nil, err
	}
	measure, ok := map[string]func(*topology.Tree, uint64) func(*topology.Tree, *SlowdownRow) error{Count: countMeasure, Routed: routedMeasure}[model]
	if !ok {
		return nil, fmt.Errorf("no model %q; there are %s and %s", model, Count, Routed)
	}
	if t.Levels() == 3 {
		return nil, fmt.Errorf("%s has three levels: this table takes trees of two, and FT(3;M0,M1,M2)", t.Notation())
	}
	fill := measure(t, seed)
	return slowdownRows(run, t.Spines(), func(r *SlowdownRow) error {
		reduced, err := Reduced(t, r.Reduction, r.All)
		if err != nil {
			return err
		}
		return fill(reduced, r)
	})
}

// slowdownRows fills the rows of reductions 0..links-1 of one subtree, then of all.
func slowdownRows(run Run, links int, fill func(*SlowdownRow) error) ([]SlowdownRow, error) {
	rows, err := reductions(run, links, func(f int, all bool) (SlowdownRow, error) {
		r := SlowdownRow{Reduction: f, All: all}
		err := fill(&r)
		return r, err
	})
	for i := range rows {
		rows[i].HealthyPhases = rows[0].Phases
	}
	return rows, err
}

// count fills a row of the count model, whose adapted schedule lasts its phases.
func (r *SlowdownRow) count(servers, shift, optimal, phases int) {
	r.Ideal, r.LinearShift, r.BandwidthOptimal, r.Phases, r.Adapted = servers, shift, optimal, phases, phases
}

func countMeasure(healthy *topology.Tree, _ uint64) func(*topology.Tree, *SlowdownRow) error {
	leaf := healthy.LeafOfRanks()
	shift := newCounter(scheduler.LinearShift(healthy), leaf, leaf, healthy.Leaves())
	optimal := newCounter(scheduler.BandwidthOptimal(healthy.Shape), leaf, leaf, healthy.Leaves())
	return func(t *topology.Tree, row *SlowdownRow) error {
		live := liveLinks(t)
		row.count(t.Servers(), shift.duration(live), optimal.duration(live), FaultAdaptivePhases(t))
		return nil
	}
}

func routedMeasure(healthy *topology.Tree, seed uint64) func(*topology.Tree, *SlowdownRow) error {
	leaf := healthy.LeafOfRanks()
	shift, optimal := survey.NewOrder(scheduler.LinearShift(healthy)), scheduler.BandwidthOptimal(healthy.Shape)
	return func(t *topology.Tree, row *SlowdownRow) error {
		tables, err := plan.Tables(nil, t, routing.MinHop)
		if err != nil {
			return err
		}
		s, _, err := scheduler.FORS(t, scheduler.Options{Seed: seed, Workers: 1})
		if err != nil {
			return err
		}
		row.Ideal, row.Phases = t.Servers()-1, s.Phases
		row.LinearShift = shift.Duration(t.Wires, leaf, survey.TablePaths(tables, leaf))
		row.BandwidthOptimal = newSpread(t).duration(optimal, leaf)
		row.Adapted = survey.NewOrder(s).Duration(t.Wires, leaf, pinnedPaths(t.Wires, s))
		return nil
	}
}
