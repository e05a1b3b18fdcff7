package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/failover"
	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// A Planned case is a case with its plan and the prediction for it.
type Planned struct {
	scenario.Case
	Plan       *plan.Plan
	Ordered    Window // of an ordered case: the first counted window
	Prediction results.Prediction

	parts Parts // that it was planned with
}

// PlanFor is Parts.PlanFor of the case, with the parts that it was planned with.
func (p *Planned) PlanFor(s *scenario.Scenario, t *topology.Tree) (*plan.Plan, error) {
	return p.parts.PlanFor(s, p.Case, t)
}

// File is the plan that is kept of a case: nil if it has no schedule.
func (p *Planned) File() results.PlanFile {
	switch {
	case p.Ordered != nil:
		return p.Ordered
	case p.Plan.Schedule != nil:
		return p.Plan
	}
	return nil
}

// Facts are the results of a case as far as they are known beforehand.
func (p *Planned) Facts(s *scenario.Scenario) results.Case {
	return results.Case{
		Name: p.Name, Mode: p.Mode, Barrier: p.Barrier, Schedule: p.Prediction.Schedule, Routing: p.Plan.Routing, Failures: p.FailureTexts(&p.Plan.Tree.Live),
		Sizes: s.Sizes(p.Case).String(), Control: p.Control, Deliver: s.Deliver, Check: s.Check, PlanHash: p.Prediction.PlanHash,
		Rates: results.Rates{Phases: p.Prediction.Phases, Bound: p.Prediction.Bound},
	}
}

// Parts are what bench does not know itself, and main hands in. A case that needs what is nil is refused.
type Parts struct {
	Ordered Orderer                                                // plans cases of mode ordered
	Best    func(*topology.Tree, plan.Options) (*plan.Plan, error) // plans cases with schedule best
}

// Prepare is Parts.Prepare for scenarios without cases that need a part.
func Prepare(s *scenario.Scenario) ([]Planned, error) { return Parts{}.Prepare(s) }

// Prepare plans every case of a scenario, the control included, and judges every plan; it runs
// nothing.
func (x Parts) Prepare(s *scenario.Scenario) ([]Planned, error) {
	var out []Planned
	for _, c := range withControl(s) {
		p, err := x.prepare(s, c)
		if err != nil {
			return nil, fmt.Errorf("case %q: %w", c.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// withControl returns the cases of a scenario with its control, a healthy synchronised linear shift
// over ftree (scenario.ControlRouting): an existing such case, else a further one, put first. It is linear-shift-ports if a
// case has that schedule and none has linear-shift. On leaves that are not full its own prediction
// is below 1.
func withControl(s *scenario.Scenario) []scenario.Case {
	if !s.Control {
		return s.Cases
	}
	cases, shift, engine := slices.Clone(s.Cases), controlSchedule(s.Cases), s.ControlRouting()
	if i := slices.IndexFunc(cases, func(c scenario.Case) bool { return isControl(c, shift, engine) }); i >= 0 {
		cases[i].Control = true
		return cases
	}
	return append([]scenario.Case{{
		Setting: builder.Setting{Name: scenario.ControlName, Mode: modes.Sync, Barrier: barrier.Tournament, Credits: 1, Duration: s.Duration}, Schedule: shift,
		Routing: engine, Control: true,
	}}, cases...)
}

func controlSchedule(cases []scenario.Case) string {
	has := func(name string) bool {
		return slices.ContainsFunc(cases, func(c scenario.Case) bool { return c.Schedule == name })
	}
	if has(schedules.LinearShiftPorts) && !has(schedules.LinearShift) {
		return schedules.LinearShiftPorts
	}
	return schedules.LinearShift
}

func isControl(c scenario.Case, shift, engine string) bool {
	return c.Mode == modes.Sync && c.Barrier == barrier.Tournament && c.Schedule == shift &&
		!c.Load.On() && c.Routing == engine && len(c.Down)+len(c.Timed) == 0 && c.Failover == nil
}

// inFlight is the most events of a server that are in flight at a time.
func inFlight(c scenario.Case) int {
	events, async := credits(c)
	return max(events, async)
}

func (x Parts) prepare(s *scenario.Scenario, c scenario.Case) (Planned, error) {
	if err := builder.MayCheck(s.Deliver, s.Check, inFlight(c)); err != nil { // workers would refuse it
		return Planned{}, err
	}
	t, err := s.Tree.Without(c.Failures...)
	if err != nil {
		return Planned{}, err
	}
	if c.Mode == modes.Ordered {
		return x.prepareOrdered(s, c, t)
	}
	p, err := x.build(s, c, t, planOptions(s, c))
	if err != nil {
		return Planned{}, err
	}
	c.Routing = cmp.Or(c.Routing, p.Routing) // of the best plan over tables
	return x.over(s, c, p)
}

// named is the schedule of a case for people. That of the best plan says whose it is.
func named(c scenario.Case, p *plan.Plan) string {
	switch {
	case c.Schedule == schedules.Best && c.Routing == scenario.Ports: // whose plan is made when the paths are known
		return fmt.Sprintf("%s (%s)", c.Schedule, schedules.PathColoring)
	case c.Schedule == schedules.Best && p.Schedule != nil:
		return fmt.Sprintf("%s (%s)", c.Schedule, p.Schedule.Name)
	}
	return schedules.Named(c.Schedule)
}

// over judges and predicts a case by its plan.
func (x Parts) over(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (Planned, error) {
	if err := p.Judge(); err != nil {
		return Planned{}, err
	}
	efficiency, err := x.predict(s, c, p)
	if err != nil {
		return Planned{}, err
	}
	if c.Load, efficiency, err = offered(s, c, efficiency); err != nil {
		return Planned{}, err
	}
	return Planned{Case: c, Plan: p, parts: x, Prediction: results.Prediction{
		Case: c.Name, Schedule: named(c, p), Objective: string(p.Objective), Routing: p.Routing, PlanHash: p.Hash(),
		Phases: p.Phases(), Bound: p.Bound.Phases, Efficiency: efficiency, Made: time.Now().UTC(),
	}}, nil
}

// If fragments differ in size, a prediction covers all exchanges of the case, up to this number.
// Under ecmp each of them counts for many draws of the paths.
const (
	PredictedExchanges     = 64
	predictedExchangesECMP = 8
)

// predict returns the efficiency that the link loads allow. With timed failures it is the mean over
// time: between two changes the plan is the policy's plan without the unused links, and changing
// the plan takes no time.
func (x Parts) predict(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	if len(c.Timed) == 0 {
		return x.efficiency(s, c, p)
	}
	if c.Routing == scenario.Ports {
		return 0, nil // nobody knows which ways the switches will choose then
	}
	return overTime(c, p.Tree, func(t *topology.Tree) (float64, error) { return x.during(s, c, p, t) })
}

// overTime is the mean over the time of a case of during(t), where the dead links of t are the
// unused ones. A flapping link has the same t many times; during is called once for each t.
func overTime(c scenario.Case, t *topology.Tree, during func(t *topology.Tree) (float64, error)) (float64, error) {
	sum, start, known := 0.0, t, map[string]float64{}
	at := time.Duration(0)
	dead := map[topology.Link]bool{}
	for _, st := range append(steps(Unused(c), c.Duration), step{at: c.Duration, change: true}) {
		if !st.change {
			continue
		}
		links := fmt.Sprint(t.Dead())
		e, ok := known[links]
		if !ok {
			var err error
			if e, err = during(t); err != nil && at > 0 {
				err = fmt.Errorf("at %s: %w", at, err)
			}
			if err != nil {
				return 0, err
			}
			known[links] = e
		}
		sum += e * (st.at - at).Seconds()
		at = st.at
		var err error
		if t, err = after(start, dead, st); err != nil {
			return 0, err
		}
	}
	return sum / c.Duration.Seconds(), nil
}

// during predicts a case while the dead links of t are unused.
func (x Parts) during(s *scenario.Scenario, c scenario.Case, p *plan.Plan, t *topology.Tree) (float64, error) {
	impaired := len(t.Dead()) > len(p.Tree.Dead())
	if impaired && policyOf(c) == failover.None || t.Connected() != nil {
		return 0, nil // all servers wait for those that wait for the link
	}
	q, err := x.PlanFor(s, c, t)
	if _, apart := errors.AsType[failover.Disconnected](err); apart && c.Failover != nil {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	if q.Schedule == nil {
		c.Mode, c.Schedule = modes.Unsync, ""
	}
	return x.efficiency(s, c, q)
}

func planOptions(s *scenario.Scenario, c scenario.Case) plan.Options {
	o := plan.Options{Schedule: c.Schedule, Routing: c.Routing, Engines: s.Engines, Objective: s.Objective(c), OnePath: s.OnePath(c), Seed: s.Seed}
	if c.Mode == modes.Ordered {
		o.Schedule = schedules.FORS
	}
	return o
}

// PlanFor returns the plan that a case follows by its policy while the dead links of t are unused.
// A plan without a schedule builds events without phases. An ordered case uses only its tree.
func (x Parts) PlanFor(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (*plan.Plan, error) {
	o := planOptions(s, c)
	switch policyOf(c) {
	case failover.MinHop:
		o.Routing = routing.MinHop
	case failover.Spread:
		o.Routing = routing.Spread
	case failover.Unsync:
		if len(t.Dead()) > len(c.Failures) {
			o.Schedule, o.Routing, o.Objective = "", routing.Spread, ""
		}
	}
	return x.build(s, c, t, o)
}

var errNoBest = errors.New("schedule " + schedules.Best + ": this program has no planner for it (evbench/plan/best)")

// A Planner is a scenario.Network that plans cases over its tables.
type Planner interface {
	// Plan plans a case on the tree of its servers.
	Plan(c scenario.Case, servers *topology.Tree) (*plan.Plan, error)
}

func (x Parts) build(s *scenario.Scenario, c scenario.Case, t *topology.Tree, o plan.Options) (*plan.Plan, error) {
	if n, ok := s.Network.(Planner); ok {
		return n.Plan(c, t)
	}
	if c.Routing == scenario.Ports { // Ways plans when it knows the paths; until then nobody has chosen any
		o.Schedule, o.Routing, o.Objective = schedules.LinearShift, routing.ECMP, ""
		return plan.Build(t, o)
	}
	if o.Schedule == schedules.Best {
		if x.Best == nil {
			return nil, errNoBest
		}
		return x.Best(t, o)
	}
	file, own := strings.CutPrefix(o.Schedule, schedules.FilePrefix)
	if !own {
		return plan.Build(t, o)
	}
	f, err := atomicfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var p *plan.Plan
	if o.Own, err = plan.ReadOwn(f, s.Engines); err == nil {
		p, err = plan.Build(t, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// after returns the tree after a step; dead is the links held down by timed failures.
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

// efficiencyOf predicts the efficiency of a case that follows one plan throughout. Fragments that
// differ in size are those that the case will send, as in the efficiency of a measured case: ideal
// is the bytes of the busiest server in all exchanges together, not in each. Exchanges in step take
// the sum of their times; overlapping exchanges take the total of the busiest link.
func efficiencyOf(s *scenario.Scenario, c scenario.Case, p *plan.Plan) float64 {
	cost := p.Cost(plan.Equal, s.Seed)
	if sizes := s.Sizes(c); !sizes.Equal() {
		cost = unequal(s, c, p, cost.Busiest)
	}
	return efficiencyIn(c.Mode, cost)
}

func efficiencyIn(mode modes.Mode, cost plan.Cost) float64 {
	if mode == modes.Sync {
		return cost.Synchronised()
	}
	return cost.Unsynchronised()
}

// unequal is the total cost of the exchanges of a case, or of as many as the prediction covers: in
// step they begin until its duration is over; without steps each takes its busiest link as long as
// an exchange of equal fragments.
func unequal(s *scenario.Scenario, c scenario.Case, p *plan.Plan, busiest float64) plan.Cost {
	servers := s.Tree.Servers()
	total := make([]float64, servers*servers)
	duration := 0.0
	lasts, events := messageTimes(s, c.Duration), builders(s, c)
	for e := range mostPredicted(p) {
		if now := max(duration, float64(e)*busiest); e > 0 && now >= lasts {
			break
		}
		w := weight(s, c, events(e))
		for src, dst := range s.Tree.Pairs {
			total[src*servers+dst] += w(src, dst)
		}
		if c.Mode == modes.Sync {
			duration += p.Cost(w, s.Seed).Duration
		}
	}
	cost := p.Cost(func(src, dst int) float64 { return total[src*servers+dst] }, s.Seed)
	cost.Duration = duration
	return cost
}

func mostPredicted(p *plan.Plan) int {
	if !p.Static() {
		return predictedExchangesECMP
	}
	return PredictedExchanges
}

// messageTimes is a duration in units of a mean fragment's time; infinite if the link rate is
// unknown.
func messageTimes(s *scenario.Scenario, d time.Duration) float64 {
	rate := s.Fabric.BitPerSec()
	if rate == 0 {
		return math.Inf(1)
	}
	return d.Seconds() * rate / (8 * float64(s.Event.Fragment))
}

// weight is the size of each message of one exchange in units of a mean fragment, where each rank
// builds one of the events.
func weight(s *scenario.Scenario, c scenario.Case, events []uint64) plan.Weight {
	sizes := s.FragmentSizes(c)
	return func(src, dst int) float64 {
		return float64(sizes.Of(events[dst], src)) / float64(s.Event.Fragment)
	}
}
