package scheduler

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// ForPods returns the schedule of a name for a three-level tree, and the best
// lower bound on the phases of a contention-free one. The linear shifts, xor and
// bandwidth-optimal leave planes and top switches open, as on two levels; PinPods
// chooses them.
//
// fors chooses them itself:
//
//   - Where the top switches of each plane suffice for its leaves and none of their
//     links is dead, the two lower levels decide: FORS plans them with planes as
//     spines, and any phase then finds top switches by an edge colouring of the
//     messages between pods. As many phases as the bound, S-1 without failures.
//   - Otherwise messages are split over planes with top switches in view, coloured
//     with phases, and phases exchange messages until each plane finds top switches
//     (podTable); what is left over moves to other planes and phases, or to added
//     ones.
//
// Links of leaves and of top switches cross: neither level's loads bound the
// other's. So phases may be above the bound, which is the gap.
//
// "repair:" before one of these names is the repair of that schedule, as on two
// levels. A tree that is not connected is refused with a *topology.UnreachableError
// where messages need paths, unless Options.DropUnreachable leaves out the pairs of
// servers that cannot reach each other.
func ForPods(name string, p *topology.Pods, o Options) (*Schedule, Bound, error) {
	f := newPodFabric(p)
	if err := f.check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule %s: %w", name, err)
	}
	if base, ok := strings.CutPrefix(name, RepairPrefix); ok {
		return repaired(base, o,
			func() (*Schedule, Bound, error) { return ForPods(base, p, o) },
			func(s *Schedule) *traffic { return newPodTraffic(s, f) })
	}
	var s *Schedule
	var err error
	switch name {
	case NameLinearShift:
		s = LinearShift(p.Lower())
	case NameLinearShiftPorts:
		s = LinearShiftPorts(p.Lower())
	case NameXOR:
		s, err = XOR(p.Lower())
	case NameBandwidthOptimal:
		s = BandwidthOptimalPods(p)
	case NameFORS:
		return f.fors(o)
	default:
		err = fmt.Errorf("no schedule %q for three levels; there are %s, and %sNAME for any of them", name, strings.Join(PodNames(), ", "), RepairPrefix)
	}
	if err == nil && o.DropUnreachable {
		if f.meet(); f.silent() {
			err = errSilent
		} else {
			s.drop(p.Lower(), p.Unreachable())
		}
	}
	if err != nil {
		return nil, Bound{}, err
	}
	return s, LowerBoundPods(p, o), nil
}

// PodNames returns the names that ForPods takes, without those of repairs.
func PodNames() []string {
	return []string{NameLinearShift, NameLinearShiftPorts, NameXOR, NameBandwidthOptimal, NameFORS}
}

// fors plans with planes and top switches.
func (f *podFabric) fors(o Options) (*Schedule, Bound, error) {
	if err := f.tree.Connected(); err != nil && !o.DropUnreachable {
		return nil, Bound{}, err
	}
	if err := o.Objective.check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	if f.meet(); f.silent() {
		return nil, Bound{}, errSilent
	}
	if o.Objective == FewestPaths || o.Objective == Balanced {
		return f.fewPaths(o)
	}
	plan := f.mixedPlan
	if !f.anyCritical() {
		plan = f.lowerPlan
	}
	s, b, err := plan(o)
	if err != nil {
		return nil, b, err
	}
	if err := f.assignTops(s, o); err != nil {
		return nil, b, fmt.Errorf("schedule fors: %w", err)
	}
	return s, b, nil
}

// mixedPlan plans with top switches in view.
func (f *podFabric) mixedPlan(o Options) (*Schedule, Bound, error) {
	w := newPodFluid(f)
	b := w.settle(f.simpleBound())
	w.relax()
	var best *podTable
	for try, k := 0, b.Phases; ; try++ {
		if k >= maxPhase || k*f.leaves*f.spines > maxPodState {
			return nil, b, fmt.Errorf("schedule fors: %d phases on %d leaves with %d planes are more than can be planned", k, f.leaves, f.spines)
		}
		if t := f.attempt(w, k, try, o); t != nil && (best == nil || t.phases < best.phases) {
			best = t
		}
		switch {
		case best == nil:
			k += 1 + k*try/100 // nothing is known to fit
		case best.phases == b.Phases || try >= f.attempts(b.Phases):
			return best.schedule(b, o), b, nil
		case try%2 == 0:
			k = (b.Phases + best.phases) / 2 // room helps; what it costs is known
		default:
			k = b.Phases
		}
	}
}

// attempts returns how often planning is tried again where the bound is not
// reached: small trees, which have the larger gaps, are tried more often.
func (f *podFabric) attempts(phases int) int {
	return max(2, min(30, 1<<19/(phases*len(f.alive))))
}

// attempt plans with k phases, or a few more where not all messages fit; it
// returns nil where that cannot be done.
func (f *podFabric) attempt(w *podFluid, k, try int, o Options) *podTable {
	s := w.round(k, try)
	if !s.repair() {
		return nil
	}
	o.Seed ^= uint64(try) << 48
	t := newPodTable(s, o)
	t.settle()
	if !t.place() {
		return nil
	}
	return t
}

// schedule gives the slots of the table to servers.
func (t *podTable) schedule(b Bound, o Options) *Schedule {
	out := &Schedule{Name: NameFORS, Ranks: t.servers, Phases: t.phases, Pinned: true, slots: t.slots}
	t.lift(o)
	if out.Phases > b.Phases {
		out.dropEmpty()
	}
	return out
}

// silent reports whether no server reaches another one.
func (f *podFabric) silent() bool {
	for a := range f.leaves {
		if f.sends(a) > 0 {
			return false
		}
	}
	return true
}

func (f *podFabric) anyCritical() bool {
	for _, c := range f.critical() {
		if c {
			return true
		}
	}
	return false
}
