package scheduler

import (
	"iter"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/pods"
	"evbench/topology"
)

// Looser returns the schedule of a tree with more phases than it needs, as when
// no split of whole numbers is found at the bound.
func Looser(t *topology.Tree, extra int32, o Options) *Schedule {
	s, b := split.Balance(fattree.New(t))
	s.Ceiling += extra
	return newSchedule("fors", phases.Of(s, b, o), true)
}

// Gap returns by how many phases the split found exceeds the bound proven.
func Gap(t *topology.Tree) int {
	s, b := split.Balance(fattree.New(t))
	return int(s.Ceiling) - b.Phases
}

// Hall returns the best hall bound above a floor, or none.
func Hall(t *topology.Tree, floor int) split.Bound {
	f := fattree.New(t)
	f.Share()
	return split.Hall(f, split.Bound{Phases: floor})
}

// Move returns a copy of s in which one message has another place.
func Move(s *Schedule, src, dst, phase, spine int) *Schedule {
	table := *s.table
	table.Slots = slices.Clone(table.Slots)
	table.Slots[src*s.Ranks+dst] = slots.Make(phase, spine)
	return newSchedule(s.Name, &table, s.Pinned)
}

// Raise returns a bound of the lower levels of a tree as one of all levels.
func Raise(t *topology.Tree, b split.Bound) split.Bound { return pods.Raise(fattree.New(t), b) }

// MoveTop returns a copy of s in which one message has another place and top switch.
func MoveTop(s *Schedule, src, dst, phase, spine, top int) *Schedule {
	c := Move(s, src, dst, phase, spine)
	c.table.Tops = slices.Clone(s.table.Tops)
	c.table.Tops[src*s.Ranks+dst] = uint8(top) // None is noSpine
	return c
}

// A Hop is a transfer without its line.
type Hop struct{ Phase, Src, Step, Dst int }

// Judged says of the published schedule whether it offends, else how many messages
// are second on a link, else, if asked to find places for them, how many phases
// messages within a leaf add.
func Judged(t *topology.Tree, fit bool) (wrong bool, conflicts, added int) {
	p, _, err := published(t)
	if err != nil {
		panic(err)
	}
	if _, wrong = p.offence(); wrong {
		return wrong, 0, 0
	}
	if conflicts, _ = p.conflicts(&t.Live); conflicts > 0 {
		return false, conflicts, 0
	}
	between := p.phases
	if fit {
		p.fit()
	}
	return false, 0, p.phases - between
}

// Stair returns the messages of a leaf in closed form, the phases they take, and
// whether those within the leaf are among them.
func Stair(t *topology.Live) (hops iter.Seq[Hop], phases int, within bool) {
	live, err := uniform(t)
	if err != nil {
		panic(err)
	}
	p := newPattern(t.Shape, len(live))
	p.fillLine()
	within = p.within()
	return func(yield func(Hop) bool) {
		for _, h := range p.transfers {
			if !yield(Hop{h.phase, h.src, h.step, h.dst}) {
				return
			}
		}
	}, p.phases, within
}

// Closed returns linear shift without a table of a tree of any size, or nil, and its table as a schedule.
func Closed(t *topology.Tree, pinned bool) (closed, listed *Schedule) {
	f := shiftOf(t, pinned, 1)
	if f == nil {
		return nil, nil
	}
	closed = f.schedule("linear-shift")
	return closed, newSchedule(closed.Name, closed.tableOf(), pinned)
}
