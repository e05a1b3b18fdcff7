package scheduler

import (
	"fmt"
	"iter"
	"slices"

	"evbench/topology"
)

// All returns the messages of s by phase and then source, the order of a plan
// file, without those that never meet. Unlike Messages it needs no memory to
// speak of: it sorts a band of phases at a time. O(S²) for each of S²/2²⁰ bands.
func (s *Schedule) All() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		start := s.starts()
		var buf []meeting
		for low := 0; low < s.Phases; {
			high := low + 1
			for high < s.Phases && start[high+1]-start[low] <= bandSize {
				high++
			}
			buf = s.band(buf, start, low, high)
			for p := low; p < high; p++ {
				for _, m := range buf[start[p]-start[low] : start[p+1]-start[low]] {
					if !yield(Message{p, int(m.src), int(m.dst), slot(m.spine).spine(), slot(m.top).spine()}) {
						return
					}
				}
			}
			low = high
		}
	}
}

// bandSize is how many messages All sorts at once, unless one phase has more.
const bandSize = 1 << 20

// A meeting is a message whose phase is known from where it is kept.
type meeting struct {
	src, dst   uint16
	spine, top uint8
}

// starts returns the number of messages before each phase, and in the end that
// of all.
func (s *Schedule) starts() []int {
	start := make([]int, s.Phases+1)
	s.used(func(_, _ int, x slot) { start[x.phase()+1]++ })
	for p := range s.Phases {
		start[p+1] += start[p]
	}
	return start
}

// band returns the messages of phases low..high-1, in order.
func (s *Schedule) band(buf []meeting, start []int, low, high int) []meeting {
	n := start[high] - start[low]
	buf = slices.Grow(buf[:0], n)[:n]
	next := make([]int, high-low)
	for p := range next {
		next[p] = start[low+p] - start[low]
	}
	s.used(func(src, dst int, x slot) { // rising src within each phase
		p := x.phase() - low
		if uint(p) >= uint(len(next)) {
			return
		}
		top := uint8(noSpine)
		if s.tops != nil {
			top = s.tops[src*s.Ranks+dst]
		}
		buf[next[p]] = meeting{uint16(src), uint16(dst), uint8(x), top}
		next[p]++
	})
	return buf
}

// used calls f for every pair that meets, rising.
func (s *Schedule) used(f func(src, dst int, x slot)) {
	for src := range s.Ranks {
		for dst, x := range s.slots[src*s.Ranks:][:s.Ranks] {
			if src != dst && x != absent {
				f(src, dst, x)
			}
		}
	}
}

// A MessageError says why messages are no schedule of a tree. Index is that of
// the first message that is wrong, or -1 where one is missing.
type MessageError struct {
	Index  int
	Reason string
}

func (e *MessageError) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("message %d: %s", e.Index, e.Reason)
}

// FromMessages returns the schedule that consists of the given messages, ranks
// and phases from 0, in any order. Of a three-level tree pods is given, of a
// two-level one t.
//
// Every ordered pair of different servers meets exactly once, except those of
// leaves between which no path is alive, which do not meet at all. A server
// sends at most one message in a phase and receives at most one, and no phase is
// empty. Either every message between leaves has a live spine (and, between
// pods, a live top switch), and no link carries two messages in a phase, or none
// has a spine. Anything else is a *MessageError. O(S² + messages).
func FromMessages(name string, t *topology.Tree, pods *topology.Pods, ms []Message) (*Schedule, error) {
	in := newIntake(name, t, pods)
	order, err := in.order(ms)
	if err != nil {
		return nil, err
	}
	for _, i := range order {
		if reason := in.add(ms[i]); reason != "" {
			return nil, &MessageError{i, reason}
		}
	}
	if err := in.complete(); err != nil {
		return nil, err
	}
	in.out.Pinned = !in.open
	return in.out, nil
}

// An intake puts messages into a schedule one after the other.
type intake struct {
	tree *topology.Tree
	pods *topology.Pods // nil in two levels
	out  *Schedule
	leaf []int           // [rank]
	cut  map[[2]int]bool // pairs of leaves without a path, the smaller first
	busy []int           // [wire]: the last phase in which it carried a message, from 1

	pinned, open bool // a message between leaves with a spine was seen; one without
}

func newIntake(name string, t *topology.Tree, pods *topology.Pods) *intake {
	in := &intake{tree: t, pods: pods, cut: map[[2]int]bool{}}
	var cut [][2]int
	if pods != nil {
		in.tree, cut = pods.Lower(), pods.Unreachable()
		in.busy = make([]int, pods.Wires())
	} else {
		cut = t.Unreachable()
		in.busy = make([]int, t.Wires())
	}
	for _, c := range cut {
		in.cut[c] = true
	}
	for l := range in.tree.Leaves() {
		in.leaf = append(in.leaf, slices.Repeat([]int{l}, in.tree.On(l))...)
	}
	in.out = newSchedule(name, in.tree.Servers())
	for i := range in.out.slots {
		in.out.slots[i] = absent
	}
	if pods != nil {
		in.out.tops = slices.Repeat([]uint8{noSpine}, len(in.out.slots))
	}
	return in
}

// order returns the indices of the messages by phase, and sets the number of
// phases.
func (in *intake) order(ms []Message) ([]int, error) {
	var count []int
	for i, m := range ms {
		if m.Phase < 0 || m.Phase >= min(len(ms), maxPhase) {
			return nil, &MessageError{i, fmt.Sprintf("phase %d, of %d messages: a phase is empty", m.Phase, len(ms))}
		}
		if m.Phase >= len(count) {
			count = append(count, make([]int, m.Phase+1-len(count))...)
		}
		count[m.Phase]++
	}
	in.out.Phases = len(count)
	next := 0
	for p, n := range count {
		if n == 0 {
			return nil, &MessageError{-1, fmt.Sprintf("phase %d is empty", p)}
		}
		count[p], next = next, next+n
	}
	order := make([]int, len(ms))
	for i, m := range ms {
		order[count[m.Phase]] = i
		count[m.Phase]++
	}
	return order, nil
}

// add takes a message, or returns what is wrong with it.
func (in *intake) add(m Message) (reason string) {
	n, t := in.out.Ranks, in.tree
	if m.Src < 0 || m.Src >= n || m.Dst < 0 || m.Dst >= n {
		return fmt.Sprintf("rank %d to rank %d: there are ranks 0..%d", m.Src, m.Dst, n-1)
	}
	pair := m.Src*n + m.Dst
	switch {
	case m.Src == m.Dst:
		return t.ServerName(m.Src) + " sends to itself"
	case in.out.slots[pair] != absent:
		return fmt.Sprintf("%s sends to %s a second time", t.ServerName(m.Src), t.ServerName(m.Dst))
	case in.take(t.FromServer(m.Src), m):
		return t.ServerName(m.Src) + " sends a second message in this phase"
	case in.take(t.ToServer(m.Dst), m):
		return t.ServerName(m.Dst) + " receives a second message in this phase"
	}
	if reason := in.path(m); reason != "" {
		return reason
	}
	in.out.slots[pair] = makeSlot(m.Phase, m.Spine)
	if m.Top != None {
		in.out.tops[pair] = uint8(m.Top)
	}
	return ""
}

// take marks a wire as busy in the phase of m, and reports whether it was.
func (in *intake) take(w topology.Wire, m Message) (twice bool) {
	twice = in.busy[w] == m.Phase+1
	in.busy[w] = m.Phase + 1
	return twice
}

// path checks the spine and the top switch of a message.
func (in *intake) path(m Message) (reason string) {
	a, b := in.leaf[m.Src], in.leaf[m.Dst]
	switch {
	case a == b:
		if m.Spine != None || m.Top != None {
			return fmt.Sprintf("a spine between servers of leaf%d, which need none", a)
		}
		return ""
	case in.cut[[2]int{min(a, b), max(a, b)}]:
		return fmt.Sprintf("leaf%d and leaf%d share no live path", a, b)
	case m.Spine == None:
		in.open = true
	default:
		in.pinned = true
	}
	switch {
	case in.open && in.pinned:
		return "some messages between leaves have a spine and some have none"
	case in.open && m.Top != None:
		return "a top switch without a spine"
	case in.open:
		return ""
	case m.Spine < 0 || m.Spine >= in.tree.Spines() || !in.tree.Alive(a, m.Spine) || !in.tree.Alive(b, m.Spine):
		return fmt.Sprintf("leaf%d and leaf%d share no live spine%d", a, b, m.Spine)
	case in.take(in.tree.Up(a, m.Spine), m):
		return fmt.Sprintf("leaf%d-spine%d carries a second message up in this phase", a, m.Spine)
	case in.take(in.tree.Down(b, m.Spine), m):
		return fmt.Sprintf("leaf%d-spine%d carries a second message down in this phase", b, m.Spine)
	}
	return in.top(m, a, b)
}

// top checks the top switch of a message that has a spine.
func (in *intake) top(m Message, a, b int) (reason string) {
	between := in.pods != nil && in.pods.Pod(a) != in.pods.Pod(b)
	if !between || m.Top == None {
		switch {
		case between:
			return fmt.Sprintf("leaf%d and leaf%d are in different pods: a top switch is missing", a, b)
		case m.Top != None:
			return "a top switch where none is needed"
		}
		return ""
	}
	pa, pb := in.pods.Pod(a), in.pods.Pod(b)
	switch {
	case m.Top < 0 || m.Top >= in.pods.Tops() || !in.pods.TopAlive(pa, m.Spine, m.Top) || !in.pods.TopAlive(pb, m.Spine, m.Top):
		return fmt.Sprintf("pod%d and pod%d share no live top%d of spine%d", pa, pb, m.Top, m.Spine)
	case in.take(in.pods.TopUp(pa, m.Spine, m.Top), m):
		return fmt.Sprintf("pod%d-spine%d-top%d carries a second message up in this phase", pa, m.Spine, m.Top)
	case in.take(in.pods.TopDown(pb, m.Spine, m.Top), m):
		return fmt.Sprintf("pod%d-spine%d-top%d carries a second message down in this phase", pb, m.Spine, m.Top)
	}
	return ""
}

// complete checks that every pair meets that can.
func (in *intake) complete() error {
	for i, x := range in.out.slots {
		src, dst := i/in.out.Ranks, i%in.out.Ranks
		if a, b := in.leaf[src], in.leaf[dst]; x == absent && src != dst && !in.cut[[2]int{min(a, b), max(a, b)}] {
			return &MessageError{-1, fmt.Sprintf("%s never sends to %s", in.tree.ServerName(src), in.tree.ServerName(dst))}
		}
	}
	return nil
}
