package scheduler

import (
	"iter"
	"slices"

	"evbench/topology"
)

// All returns the messages of s by phase and then source, the order of a plan file, without pairs
// that never meet. Unlike Messages it needs little memory: it sorts a band of phases at a time.
// O(S²) for each of S²/2²⁰ bands.
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

// A meeting is a message without its phase; its place in memory gives the phase.
type meeting struct {
	src, dst   uint16
	spine, top uint8
}

// starts returns the number of messages before each phase, then the number of all messages.
func (s *Schedule) starts() []int {
	start := make([]int, s.Phases+1)
	s.walk(func(_, _ int, x *slot) { start[x.phase()+1]++ })
	for p := range s.Phases {
		start[p+1] += start[p]
	}
	return start
}

func (s *Schedule) band(buf []meeting, start []int, low, high int) []meeting {
	n := start[high] - start[low]
	buf = slices.Grow(buf[:0], n)[:n]
	next := make([]int, high-low)
	for p := range next {
		next[p] = start[low+p] - start[low]
	}
	s.walk(func(src, dst int, x *slot) { // rising src within each phase
		p := x.phase() - low
		if uint(p) >= uint(len(next)) {
			return
		}
		top := uint8(noSpine)
		if s.tops != nil {
			top = s.tops[src*s.Ranks+dst]
		}
		buf[next[p]] = meeting{uint16(src), uint16(dst), uint8(*x), top}
		next[p]++
	})
	return buf
}

// FromMessages returns the schedule of t that consists of the given messages, ranks and phases from
// 0, in any order. The caller vouches for them: each pair of servers at most once, phases below
// 2²⁴, spines and top switches of t. FromMessages takes their paths if pinned. O(S² + messages).
func FromMessages(name string, t *topology.Tree, pinned bool, ms iter.Seq[Message]) *Schedule {
	s := newSchedule(name, t.Servers())
	s.Pinned = pinned
	for i := range s.slots {
		s.slots[i] = absent
	}
	if t.Paths() > t.Spines() || t.Levels() == 3 {
		s.tops = slices.Repeat([]uint8{noSpine}, len(s.slots))
	}
	for m := range ms {
		pair := m.Src*s.Ranks + m.Dst
		s.Phases = max(s.Phases, m.Phase+1)
		s.slots[pair] = makeSlot(m.Phase, None)
		if !pinned {
			continue
		}
		s.slots[pair] = makeSlot(m.Phase, m.Spine)
		if m.Top != None {
			s.tops[pair] = uint8(m.Top)
		}
	}
	return s
}

// Without returns s without the messages between these pairs of leaves, and without the
// phases that then hold none. O(S²).
func (s *Schedule) Without(t *topology.Tree, apart [][2]int) *Schedule {
	less := *s
	less.slots = slices.Clone(s.slots)
	less.drop(t, apart)
	return &less
}
