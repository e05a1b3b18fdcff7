package scheduler

import (
	"iter"
	"slices"
	"testing"

	"evbench/testing/expect"
	"evbench/topology"
)

// Looser returns the schedule of a tree with more phases than it needs, as when
// no split of whole numbers is found at the bound.
func Looser(t *topology.Tree, extra int32, o Options) *Schedule {
	s, b := newFabric(t).balance()
	s.ceiling += extra
	return s.schedule(b, o)
}

// Gap returns by how many phases the split found exceeds the bound proven.
func Gap(t *topology.Tree) int {
	s, b := newFabric(t).balance()
	return int(s.ceiling) - b.Phases
}

// Hall returns the best hall bound above a floor, or none.
func Hall(t *topology.Tree, floor int) Bound {
	f := newFabric(t)
	f.share()
	return f.hall(Bound{Phases: floor})
}

// Move returns a copy of s in which one message has another place.
func Move(s *Schedule, src, dst, phase, spine int) *Schedule {
	c := *s
	c.slots = slices.Clone(s.slots)
	c.slots[src*s.Ranks+dst] = makeSlot(phase, spine)
	return &c
}

// Raise returns a bound of the lower levels of a tree as one of all levels.
func Raise(t *topology.Tree, b Bound) Bound { return newFabric(t).raise(b) }

// MoveTop returns a copy of s in which one message has another place and top switch.
func MoveTop(s *Schedule, src, dst, phase, spine, top int) *Schedule {
	c := Move(s, src, dst, phase, spine)
	c.tops = append([]uint8(nil), s.tops...)
	c.tops[src*s.Ranks+dst] = uint8(top)
	if top == None {
		c.tops[src*s.Ranks+dst] = noSpine
	}
	return c
}

// A Hop is a transfer without its line.
type Hop struct{ Phase, Src, Step, Dst int }

// Judged says of a published schedule whether it offends, else how many messages
// are second on a link, else, if asked to find places for them, how many phases
// messages within a leaf add.
func Judged(t *topology.Tree, name string, fit bool) (wrong bool, conflicts, added int) {
	p, _, err := variant(name).pattern(t)
	if err != nil {
		panic(err)
	}
	if _, wrong = p.offence(); wrong {
		return wrong, 0, 0
	}
	if conflicts, _ = p.conflicts(t); conflicts > 0 {
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
func Stair(t *topology.Tree) (hops iter.Seq[Hop], phases int, within bool) {
	live, err := uniform(t)
	if err != nil {
		panic(err)
	}
	p := newPattern(t, len(live))
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

// TestApplyUndoes shows that a chain which does not help leaves all as it was.
func TestApplyUndoes(t *testing.T) {
	tr := expect.Value(topology.New(topology.Options{Ports: 3, Leaves: 2}))(t)
	f := newFabric(tr)
	f.share()
	w := newFluid(f)
	w.ceiling = 3
	s := w.round(0) // 3 messages each way on each of 3 spines
	const sender, receiver = 0, 3
	s.add(sender, receiver, 0, -3)
	s.add(sender, receiver, 1, 3)
	r := newChain(s, nil)
	x, load, over := slices.Clone(s.x), slices.Clone(s.load), s.over
	for _, tt := range []struct {
		name  string
		queue []hop
		want  bool
	}{
		{"to a full spine", []hop{{sender, 1, none}, {receiver, 2, 0}}, false},
		{"a message that is not there", []hop{{sender, 1, none}, {receiver, 0, 0}, {sender, 2, 1}}, false},
		{"to an empty spine", []hop{{sender, 1, none}, {receiver, 0, 0}}, true},
	} {
		r.queue = tt.queue
		got := r.apply(tt.queue[len(tt.queue)-1])
		same := slices.Equal(x, s.x) && slices.Equal(load, s.load) && s.over == over
		expect.True(t, got == tt.want && same != got, "%s: apply = %v, unchanged %v, want apply = %v", tt.name, got, same, tt.want)
	}
	expect.True(t, s.repair() && s.over == 0 && slices.Max(s.load) <= s.ceiling, "not repaired: loads %v", s.load)
}
