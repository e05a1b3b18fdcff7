package pods

import (
	"fmt"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// Plan returns a schedule of three levels, of a tree whose pairs are filled in, with the best bound
// proven. It has the fewest phases where no plane is critical.
func Plan(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	critical := slices.Contains(f.Critical(), true)
	if err := checkRoles(f, o, critical); err != nil {
		return nil, split.Bound{}, err
	}
	if o.FewPaths() {
		if t, b := fewPaths(f, o); t != nil {
			return t, b, nil
		}
	}
	plan := mixed
	if !critical {
		plan = lower
	}
	t, b, err := plan(f, o)
	if err == nil {
		err = assignTops(f, t, schedules.FORS, o)
	}
	return t, b, err
}

// mixed plans with top switches in view.
func mixed(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	b := split.Simple(f)
	if tooMany(f, b.Phases, fattree.MaxPodState) { // before the search for a better bound, which takes minutes where this is so
		return nil, b, errTooMany(f, b)
	}
	w := split.NewFluid(f)
	b = w.SettlePods(b)
	w.Relax()
	var best *table
	usual, thorough := attempts(f, b.Phases)
	for try, k := 0, b.Phases; ; try++ {
		if tooMany(f, k, fattree.MaxPodState) {
			return nil, b, errTooMany(f, b)
		}
		if t := attempt(w, k, try, try > usual && best != nil, o); t != nil && (best == nil || t.b.Phases < best.b.Phases) {
			best = t
		}
		switch {
		case best == nil:
			k += 1 + k*try/100 // nothing is known to fit
		case best.b.Phases == b.Phases || try >= usual+thorough:
			return best.schedule(b, o), b, nil
		case try%2 == 0 && try < usual:
			k = (b.Phases + best.b.Phases) / 2 // room helps; what it costs is known
		default:
			k = b.Phases
		}
	}
}

func tooMany(f *fattree.Tree, phases, state int) bool {
	return phases >= slots.MaxPhase || phases*f.Leaves*f.Spines > state
}

func errTooMany(f *fattree.Tree, b split.Bound) error {
	return fmt.Errorf("no plan takes less than %d phases (bound proven by %v), and so many on %d leaves with %d planes are more than evbench plans with the fewest; --schedule %s --routing ftree takes more phases, at any size",
		b.Phases, b, f.Leaves, f.Spines, schedules.LinearShift)
}

// attempts returns how often planning is tried again above the bound, and then with a thorough search.
// Small trees, which have the larger gaps, get more attempts.
func attempts(f *fattree.Tree, phases int) (usual, thorough int) {
	units := phases * len(f.Alive)
	return max(2, min(30, 1<<19/units)), min(12, 1<<15/units)
}

// attempt plans with k phases, or a few more where not all messages fit. It returns nil if it
// fails.
func attempt(w *split.Fluid, k, try int, thorough bool, o schedules.Options) *table {
	s := round(w, k, try)
	if !s.repair() {
		return nil
	}
	o.Seed ^= uint64(try) << 48
	t := newTable(s, o, thorough)
	t.settle()
	if !t.place() {
		return nil
	}
	return t
}

// schedule returns the slots of t, with servers.
func (t *table) schedule(b split.Bound, o schedules.Options) *slots.Table {
	out := &slots.Table{Ranks: t.f.Servers, Phases: t.b.Phases, Slots: t.b.Slots}
	t.b.Lift(o)
	phases.Finish(out, t.f, t.b.Slots, b)
	return out
}

// checkRoles returns an error where some servers only read or only build and FORS has no plan on three
// levels: for few paths, or where top switches may not suffice for the phases of the lower levels.
func checkRoles(f *fattree.Tree, o schedules.Options, critical bool) error {
	switch {
	case !f.Topology.Divided():
		return nil
	case o.FewPaths():
		return fmt.Errorf("%w; leave it out, or take %s for one path", f.Topology.AllBoth("objective "+string(o.Objective)+" is for trees of three levels"), schedules.LinearShift)
	case critical:
		return fmt.Errorf("%w; take %s", f.Topology.AllBoth("three levels whose top switches lack links or are fewer than leaves are planned"), schedules.RepairPrefix+schedules.LinearShift)
	}
	return nil
}

// mostLower bounds phases times links of leaves where nothing is searched: 6,000 servers on whole leaves, a minute or two.
const mostLower = 1 << 26

// lower plans the lower levels of a tree whose top switches always suffice.
func lower(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	if b := split.Simple(f); tooMany(f, b.Phases, mostLower) {
		return nil, b, errTooMany(f, b)
	}
	low := fattree.NewLower(f.Topology)
	low.Share()
	t, b, err := phases.Plan(low, o)
	if err != nil {
		return nil, b, err
	}
	return t, Raise(f, b), nil
}

// Raise returns a bound of the lower levels as one of all: what leaves and planes need is needed
// whatever lies above. A set of leaves becomes weights on the links that it shares with the leaf.
func Raise(f *fattree.Tree, b split.Bound) split.Bound {
	if b.Kind == split.KindHall {
		w := split.Bound{Phases: b.Phases, Kind: split.KindLP, Weights: make([]int64, f.Topology.AllWires())}
		for _, l := range b.Subset {
			for k := range f.Spines {
				if f.Topology.Alive(b.At, k) && f.Topology.Alive(l, k) {
					w.Weights[f.Topology.Up(b.At, k)], w.Weights[f.Topology.Down(b.At, k)] = 1, 1
				}
			}
		}
		return w
	}
	if b.Kind == split.KindLP {
		w := make([]int64, f.Topology.AllWires())
		copy(w, b.Weights) // leaf links have the same numbers
		b.Weights = w
	}
	return b
}
