package paths

import (
	"slices"

	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
)

// label fills the columns with slots that have a spine but no phase yet. It gives the messages of a
// spine between two leaves to destinations such that few spines serve one destination, the native
// one first. Slots of one spine are next to each other in a column.
func (s *spread) label(c *phases.Columns) (load []int32) {
	for a := range s.f.Leaves {
		for b := range s.f.Leaves {
			for d := s.f.Builders[b]; d < s.f.Builders[b]+s.f.B[b]; d++ {
				col := c.Column(a, d)
				for i := range col {
					if col[i] = slots.Absent; a == b {
						col[i] = slots.Make(0, none)
					}
				}
			}
			if a != b && s.f.R[a] > 0 && s.f.Meets(a, b) {
				l := labeller{s: s, to: c, a: a, left: slices.Clone(s.split.X[s.split.At(a, s.f.Leaves+b):][:s.f.Spines])}
				l.pair(b)
			}
		}
	}
	return s.split.Load
}

// A labeller works on the messages of one leaf for another.
type labeller struct {
	s    *spread
	to   *phases.Columns
	a    int
	left []int32 // messages not yet given away, by spine
	open []int   // destinations that wait
}

type portion struct {
	spine int
	n     int32
}

// pair gives every destination on leaf b its n messages: whole from its native
// spine where that has them, then whole from others, then the portions.
func (l *labeller) pair(b int) {
	n := int32(l.s.f.R[l.a])
	for d := l.s.f.Builders[b]; d < l.s.f.Builders[b]+l.s.f.B[b]; d++ {
		if k := l.s.native[d]; k != none && l.left[k] >= n {
			l.give(d, portion{k, n})
		} else {
			l.open = append(l.open, d)
		}
	}
	var rest []portion
	for k := range l.left {
		for l.left[k] >= n {
			l.give(l.pop(k), portion{k, n})
		}
		if l.left[k] > 0 {
			rest = append(rest, portion{k, l.left[k]})
		}
	}
	for len(rest) > 0 {
		var group []portion
		group, rest = bundle(rest, n)
		l.give(l.pop(group[0].spine), group...)
	}
}

func (l *labeller) pop(k int) int {
	i := max(0, slices.IndexFunc(l.open, func(d int) bool { return l.s.native[d] == k }))
	d := l.open[i]
	l.open = slices.Delete(l.open, i, i+1)
	return d
}

func (l *labeller) give(d int, portions ...portion) {
	col := l.to.Column(l.a, d)
	for _, p := range portions {
		l.left[p.spine] -= p.n
		for range p.n {
			col[0] = slots.Make(0, p.spine)
			col = col[1:]
		}
	}
}

// bundle takes few portions that add up to n, and returns those left. It takes the largest portion
// that still fits, again and again; where none fits, a part of the smallest. No spine comes twice.
func bundle(rest []portion, n int32) (group, left []portion) {
	slices.SortStableFunc(rest, func(p, q portion) int { return int(q.n - p.n) })
	for i := 0; n > 0; {
		if i = slices.IndexFunc(rest, func(p portion) bool { return p.n <= n }); i >= 0 {
			group = append(group, rest[i])
			n -= rest[i].n
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		last := &rest[len(rest)-1]
		group = append(group, portion{last.spine, n})
		last.n -= n
		n = 0
	}
	return group, rest
}
