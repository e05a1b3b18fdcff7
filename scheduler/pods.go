package scheduler

import (
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
)

// forsAbove does the work of FORS on three levels. Where the top switches of each plane suffice for
// its leaves and all their links are alive, it plans the two lower levels with planes as spines. An
// edge colouring then finds top switches for any phase. Otherwise it splits messages over planes
// with top switches in view and colours them with phases. Phases exchange messages until each plane
// finds top switches (podTable). The rest moves to other planes and phases, or to added ones. So
// phases may exceed the bound.
func (f *fabric) forsAbove(o Options) (*Schedule, Bound, error) {
	critical := slices.Contains(f.critical(), true)
	if err := f.rolesAbove(o, critical); err != nil {
		return nil, Bound{}, err
	}
	if o.Objective == schedules.FewestPaths || o.Objective == schedules.Balanced {
		return f.fewPathsAbove(o)
	}
	plan := f.mixedPlan
	if !critical {
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

func (f *fabric) mixedPlan(o Options) (*Schedule, Bound, error) {
	w := newFluid(f)
	b := w.settlePods(f.simpleBound())
	w.relax()
	var best *podTable
	for try, k := 0, b.Phases; ; try++ {
		if k >= maxPhase || k*f.leaves*f.spines > maxPodState {
			return nil, b, fmt.Errorf("schedule fors: %d phases on %d leaves with %d planes are more than evbench can plan", k, f.leaves, f.spines)
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

// attempts returns how often planning is tried again above the bound. Small trees, which have the
// larger gaps, get more attempts.
func (f *fabric) attempts(phases int) int {
	return max(2, min(30, 1<<19/(phases*len(f.alive))))
}

// attempt plans with k phases, or a few more where not all messages fit. It returns nil if it
// fails.
func (f *fabric) attempt(w *fluid, k, try int, o Options) *podTable {
	s := w.roundPods(k, try)
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

func (t *podTable) schedule(b Bound, o Options) *Schedule {
	out := &Schedule{Name: schedules.FORS, Ranks: t.servers, Phases: t.phases, Pinned: true, slots: t.slots}
	t.lift(o)
	if out.Phases > b.Phases {
		out.dropEmpty()
	}
	return out
}
