// Package trace answers: what did the servers of a traced slice do when, and which phases,
// pairs and links took longer than predicted? It puts spans of several servers on one
// clock, writes them as a trace that Chrome and Perfetto show, and compares them with the
// plan. It opens no file.
package trace

import (
	"cmp"
	"maps"
	"slices"

	"evbench/results"
)

// A Slice is what was traced of one slice of a case.
type Slice struct {
	Case   string
	Repeat int
	Spans  []results.Span // by server and begin
	// Shift is, by server, by how many seconds its clock was put later.
	Shift map[int]float64
}

// Servers returns the positions of those that have spans, rising.
func (s *Slice) Servers() []int {
	seen := map[int]bool{}
	for _, x := range s.Spans {
		seen[x.Server] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Split sorts spans into slices, by case in the order in which cases come first, and
// repeat, and puts the clocks of each slice together.
func Split(spans []results.Span) []*Slice {
	at, order := map[results.SliceID]*Slice{}, map[string]int{}
	var out []*Slice
	for _, x := range spans {
		k := results.SliceID{Case: x.Case, Repeat: x.Repeat}
		if _, known := order[k.Case]; !known {
			order[k.Case] = len(order)
		}
		s := at[k]
		if s == nil {
			s = &Slice{Case: x.Case, Repeat: x.Repeat}
			at[k], out = s, append(out, s)
		}
		s.Spans = append(s.Spans, x)
	}
	slices.SortStableFunc(out, func(a, b *Slice) int {
		return cmp.Or(order[a.Case]-order[b.Case], a.Repeat-b.Repeat)
	})
	for _, s := range out {
		s.align()
		slices.SortStableFunc(s.Spans, func(a, b results.Span) int {
			return cmp.Or(a.Server-b.Server, cmp.Compare(a.BeginSec, b.BeginSec))
		})
	}
	return out
}

// align puts the servers' clocks together. Each starts when the server was told to count,
// which is not the same moment everywhere; but all leave a barrier together. The shift of a
// server is the median over barriers of how much sooner it left them, by its clock, than
// the mean of all. Without barriers clocks stay as they are.
func (s *Slice) align() {
	type barrier struct {
		exchange uint64
		phase    int
	}
	sum, n := map[barrier]float64{}, map[barrier]int{}
	for _, x := range s.Spans {
		if x.What == results.SpanBarrier {
			k := barrier{x.Exchange, x.Phase}
			sum[k] += x.EndSec
			n[k]++
		}
	}
	all := len(s.Servers())
	ahead := map[int][]float64{}
	for _, x := range s.Spans {
		if k := (barrier{x.Exchange, x.Phase}); x.What == results.SpanBarrier && n[k] == all {
			ahead[x.Server] = append(ahead[x.Server], sum[k]/float64(all)-x.EndSec)
		}
	}
	s.Shift = map[int]float64{}
	for server, list := range ahead {
		s.Shift[server] = results.NewStat(list).Median
	}
	for i := range s.Spans {
		x := &s.Spans[i]
		x.BeginSec += s.Shift[x.Server]
		x.EndSec += s.Shift[x.Server]
	}
}
