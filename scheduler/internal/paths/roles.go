package paths

import (
	"evbench/scheduler/internal/slots"
)

// A usage says what carries a message in a phase.
type usage struct {
	up, down []bool // by node
	hears    []bool // by builder
	out, in  []int  // by leaf: readers that send, builders that hear
}

// part moves each message that is the second of its destination in a phase to the first phase with
// room for it, an added one where there is none.
func (t *timing) part() {
	var used []*usage
	more := func() {
		used = append(used, &usage{make([]bool, t.nodes), make([]bool, t.nodes), make([]bool, t.c.Width), make([]int, t.f.Leaves), make([]int, t.f.Leaves)})
	}
	for range t.c.Phases {
		more()
	}
	var second []int32
	for i, e := range t.up {
		switch u := used[i%t.c.Phases]; {
		case t.dest[e] == none:
		case u.hears[t.dest[e]]:
			second = append(second, e)
		default:
			t.put(e, i%t.c.Phases, u)
		}
	}
	for _, e := range second {
		p := 0
		for p < len(used) && !t.roomFor(e, used[p]) {
			p++
		}
		if p == len(used) {
			more()
		}
		t.put(e, p, used[p])
	}
	t.c.Phases = len(used)
}

func (t *timing) put(e int32, phase int, u *usage) {
	t.c.Slots[e] = slots.Make(phase, t.c.Slots[e].Spine())
	if t.c.Slots[e].Spine() != none {
		u.up[t.left[e]], u.down[t.right[e]] = true, true
	}
	u.hears[t.dest[e]] = true
	u.out[t.home[t.left[e]]]++
	u.in[t.leafOf[t.dest[e]]]++
}

func (t *timing) roomFor(e int32, u *usage) bool {
	a, b := t.home[t.left[e]], t.leafOf[t.dest[e]]
	return !u.hears[t.dest[e]] && u.out[a] < t.f.R[a] && u.in[b] < t.f.B[b] &&
		(t.c.Slots[e].Spine() == none || !u.up[t.left[e]] && !u.down[t.right[e]])
}
