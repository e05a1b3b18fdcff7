package scheduler

import (
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
)

// phasesFor returns the schedule of fewest phases over the spines of a fabric whose pairs are filled in,
// with the best bound proven.
func phasesFor(f *fabric, o schedules.Options) (*slotTable, Bound, error) {
	if t, _ := shiftOver(f); t != nil {
		t.deal(f.tree)
		return t, f.simpleBound(), nil
	}
	s, bound, err := balanced(f)
	if err != nil {
		return nil, bound, err
	}
	return phasesOf(s, bound, o), bound, nil
}

// balanced is balance, where a schedule can have so many phases.
func balanced(f *fabric) (*split, Bound, error) {
	s, bound := f.balance()
	if int(s.ceiling) >= maxPhase {
		return nil, Bound{}, fmt.Errorf("%d phases, more than %d", s.ceiling, maxPhase)
	}
	return s, bound, nil
}

// shiftOver returns linear shift with the spines that no failure touches, by destination, and these
// spines; or nil where it would collide. The messages that leave a leaf in a phase go to
// neighbouring ranks, so they take each of n spines and of the n servers of a leaf once.
func shiftOver(f *fabric) (t *slotTable, spines []int) {
	n := f.n[0]
	if f.tree.Roles() {
		return nil, nil
	}
	for k := range f.spines {
		whole := f.room(k)
		for i := range f.n {
			if whole = min(whole, f.room(f.link(i, k))); !f.alive[f.link(i, k)] {
				whole = 0
			}
		}
		spines = append(spines, slices.Repeat([]int{k}, whole)...)
	}
	if f.servers != n*f.leaves || slices.Max(f.n) > n || f.leaves > 1 && len(spines) < n {
		return nil, nil
	}
	t = shifted(f.servers)
	t.walk(func(src, dst int, x *slot) {
		if src/n != dst/n {
			*x = makeSlot(x.phase(), spines[dst%n])
		}
	})
	return t, spines[:min(n, len(spines))]
}

// phasesOf gives the messages of a split their phases and servers.
func phasesOf(s *split, bound Bound, o schedules.Options) *slotTable {
	out := newSlotTable(s.f.servers, int(s.ceiling))
	b := newBlocks(s.f, out.phases, out.slots)
	b.color(s, o)
	b.lift(o)
	finish(out, s.f, b.slots, bound)
	out.deal(s.f.tree)
	return out
}

// finish gives the rows of readers and builders to their servers, and leaves out phases without a
// message: above the bound a phase may hold nothing.
func finish(out *slotTable, f *fabric, rows []slot, bound Bound) {
	if f.tree.Roles() {
		out.spread(f.tree, rows)
	} else if out.phases > bound.Phases {
		out.dropEmpty()
	}
}
