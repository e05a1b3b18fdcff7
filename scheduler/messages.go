package scheduler

import (
	"iter"
	"slices"

	"evbench/scheduler/internal/slots"
)

// All returns the messages of s by phase and then source, the order of a plan file, without pairs
// that never meet. It needs little memory: it sorts a band of phases at a time.
// O(S²) for each of S²/2²⁰ bands.
func (s *Schedule) All() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		start := s.table.Starts()
		var buf []meeting
		for low, phases := 0, s.table.Phases; low < phases; {
			high := low + 1
			for high < phases && start[high+1]-start[low] <= bandSize {
				high++
			}
			buf = s.band(buf, start, low, high)
			for p := low; p < high; p++ {
				for _, m := range buf[start[p]-start[low] : start[p+1]-start[low]] {
					if !yield(Message{p, int(m.src), int(m.dst), slots.Slot(m.spine).Spine(), slots.Slot(m.top).Spine()}) {
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

func (s *Schedule) band(buf []meeting, start []int, low, high int) []meeting {
	n := start[high] - start[low]
	buf = slices.Grow(buf[:0], n)[:n]
	next := make([]int, high-low)
	for p := range next {
		next[p] = start[low+p] - start[low]
	}
	s.table.Walk(func(src, dst int, x *slots.Slot) { // rising src within each phase
		p := x.Phase() - low
		if uint(p) >= uint(len(next)) {
			return
		}
		top := uint8(slots.NoSpine)
		if s.table.Tops != nil {
			top = s.table.Tops[src*s.Ranks+dst]
		}
		buf[next[p]] = meeting{uint16(src), uint16(dst), uint8(*x), top}
		next[p]++
	})
	return buf
}
