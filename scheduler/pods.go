package scheduler

import (
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
)

// podsFor does the work of FORS on three levels. Where the top switches of each plane suffice for
// its leaves and all their links are alive, it plans the two lower levels with planes as spines. An
// edge colouring then finds top switches for any phase. Otherwise it splits messages over planes
// with top switches in view and colours them with phases. Phases exchange messages until each plane
// finds top switches (podTable). The rest moves to other planes and phases, or to added ones. So
// phases may exceed the bound.
func podsFor(f *fabric, o schedules.Options) (*slotTable, Bound, error) {
	critical := slices.Contains(f.critical(), true)
	if err := rolesAbove(f, o, critical); err != nil {
		return nil, Bound{}, err
	}
	if o.FewPaths() {
		if t, b := fewPathsAbove(f, o); t != nil {
			return t, b, nil
		}
	}
	plan := mixedPlan
	if !critical {
		plan = lowerPlan
	}
	t, b, err := plan(f, o)
	if err == nil {
		err = assignTops(f, t, schedules.FORS, o)
	}
	return t, b, err
}

func mixedPlan(f *fabric, o schedules.Options) (*slotTable, Bound, error) {
	w := newFluid(f)
	b := w.settlePods(f.simpleBound())
	w.relax()
	var best *podTable
	for try, k := 0, b.Phases; ; try++ {
		if k >= maxPhase || k*f.leaves*f.spines > maxPodState {
			return nil, b, fmt.Errorf("%d phases on %d leaves with %d planes are more than evbench can plan", k, f.leaves, f.spines)
		}
		if t := attempt(w, k, try, o); t != nil && (best == nil || t.b.phases < best.b.phases) {
			best = t
		}
		switch {
		case best == nil:
			k += 1 + k*try/100 // nothing is known to fit
		case best.b.phases == b.Phases || try >= attempts(f, b.Phases):
			return best.schedule(b, o), b, nil
		case try%2 == 0:
			k = (b.Phases + best.b.phases) / 2 // room helps; what it costs is known
		default:
			k = b.Phases
		}
	}
}

// attempts returns how often planning is tried again above the bound. Small trees, which have the
// larger gaps, get more attempts.
func attempts(f *fabric, phases int) int {
	return max(2, min(30, 1<<19/(phases*len(f.alive))))
}

// attempt plans with k phases, or a few more where not all messages fit. It returns nil if it
// fails.
func attempt(w *fluid, k, try int, o schedules.Options) *podTable {
	s := roundPods(w, k, try)
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

func (t *podTable) schedule(b Bound, o schedules.Options) *slotTable {
	out := &slotTable{ranks: t.f.servers, phases: t.b.phases, slots: t.b.slots}
	t.b.lift(o)
	finish(out, t.f, t.b.slots, b)
	return out
}

// rolesAbove returns an error where some servers only read or only build and FORS has no plan on three
// levels: for few paths, or where top switches may not suffice for the phases of the lower levels.
func rolesAbove(f *fabric, o schedules.Options, critical bool) error {
	switch {
	case !f.tree.Roles():
		return nil
	case o.FewPaths():
		return fmt.Errorf("%w; leave it out, or take %s for one path", f.tree.AllBoth("objective "+string(o.Objective)+" is for trees of three levels"), schedules.LinearShift)
	case critical:
		return fmt.Errorf("%w; take %s", f.tree.AllBoth("three levels whose top switches lack links or are fewer than leaves are planned"), schedules.RepairPrefix+schedules.LinearShift)
	}
	return nil
}
