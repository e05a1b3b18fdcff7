package scheduler

import (
	"fmt"
	"slices"
)

// forsAbove is FORS on three levels. Where the top switches of each plane suffice for its
// leaves and none of their links is dead, the two lower levels are planned with planes as
// spines, and any phase then finds top switches by an edge colouring. Otherwise messages are
// split over planes with top switches in view, coloured with phases, and phases exchange
// messages until each plane finds top switches (podTable); what is left over moves to other
// planes and phases, or to added ones. So phases may be above the bound, which is the gap.
func (f *fabric) forsAbove(o Options) (*Schedule, Bound, error) {
	if o.Objective == FewestPaths || o.Objective == Balanced {
		return f.fewPathsAbove(o)
	}
	plan := f.mixedPlan
	if !slices.Contains(f.critical(), true) {
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
func (f *fabric) attempts(phases int) int {
	return max(2, min(30, 1<<19/(phases*len(f.alive))))
}

// attempt plans with k phases, or a few more where not all messages fit; it
// returns nil where that cannot be done.
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
	out := &Schedule{Name: NameFORS, Ranks: t.servers, Phases: t.phases, Pinned: true, slots: t.slots}
	t.lift(o)
	if out.Phases > b.Phases {
		out.dropEmpty()
	}
	return out
}
