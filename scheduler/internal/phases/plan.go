package phases

import (
	"fmt"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// Plan returns the schedule of fewest phases over the spines of a tree whose pairs are filled in,
// with the best bound proven.
func Plan(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	if t, _ := Shift(f); t != nil {
		t.GiveCables(&f.Topology.Live)
		return t, split.Simple(f), nil
	}
	s, bound, err := Balanced(f)
	if err != nil {
		return nil, bound, err
	}
	return Of(s, bound, o), bound, nil
}

// Balanced is split.Balance, where a schedule can have so many phases.
func Balanced(f *fattree.Tree) (*split.Split, split.Bound, error) {
	s, bound := split.Balance(f)
	if int(s.Ceiling) >= slots.MaxPhase {
		return nil, split.Bound{}, fmt.Errorf("%d phases, more than %d", s.Ceiling, slots.MaxPhase)
	}
	return s, bound, nil
}

// Shift returns linear shift with the spines that no failure touches, by destination, and these
// spines; or nil where it would collide. The messages that leave a leaf in a phase go to
// neighbouring ranks, so they take each of n spines and of the n servers of a leaf once.
func Shift(f *fattree.Tree) (t *slots.Table, spines []int) {
	n := f.N[0]
	if f.Topology.Divided() {
		return nil, nil
	}
	for k := range f.Spines {
		whole := f.Room(k)
		for i := range f.N {
			if whole = min(whole, f.Room(f.Link(i, k))); !f.Alive[f.Link(i, k)] {
				whole = 0
			}
		}
		spines = append(spines, slices.Repeat([]int{k}, whole)...)
	}
	if f.Servers != n*f.Leaves || slices.Max(f.N) > n || f.Leaves > 1 && len(spines) < n {
		return nil, nil
	}
	t = slots.New(f.Servers, f.Servers-1)
	for src := range t.Ranks {
		for dst := range t.Ranks {
			spine := none
			if src/n != dst/n {
				spine = spines[dst%n]
			}
			t.Slots[src*t.Ranks+dst] = slots.Make((dst-src-1+t.Ranks)%t.Ranks, spine)
		}
	}
	return t, spines[:min(n, len(spines))]
}

// Of gives the messages of a split their phases and servers.
func Of(s *split.Split, bound split.Bound, o schedules.Options) *slots.Table {
	out := slots.New(s.F.Servers, int(s.Ceiling))
	b := NewBlocks(s.F, out.Phases, out.Slots)
	b.color(s, o)
	b.Lift(o)
	Finish(out, s.F, b.Slots, bound)
	out.GiveCables(&s.F.Topology.Live)
	return out
}

// Finish gives the rows of readers and builders to their servers, and leaves out phases without a
// message: above the bound a phase may hold nothing.
func Finish(out *slots.Table, f *fattree.Tree, rows []slots.Slot, bound split.Bound) {
	if f.Topology.Divided() {
		out.Spread(&f.Topology.Roles, rows)
	} else if out.Phases > bound.Phases {
		out.DropEmpty()
	}
}
