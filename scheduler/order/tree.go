package order

import (
	"math"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// OfHosts is the messages of a schedule over the cables of servers alone, some of which are slow.
func OfHosts(s *scheduler.Schedule, t *topology.Tree, slow []topology.SlowHost) *Exchange {
	p := scheduler.OfTree(t, topology.Rates{Hosts: slow})
	p.Meets = s.Meets
	p.Paths = scheduler.One(func(to []int32, _, _ int) []int32 { return to })
	return New(p, nil)
}

// mostLanes is for how many candidates of all messages a search may choose others than the plan has: some seconds.
const mostLanes = 200_000

// ofSchedule is messages of a pinned schedule over its paths, those that meet; kept: which a search does not change.
func ofSchedule(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, meets func(src, dst int) bool, kept bool) (*Exchange, *scheduler.Lanes) {
	p := scheduler.OfTree(t, r)
	p.Meets = meets
	lanes, most, all := p.Paths.(*scheduler.Lanes), 0, 0
	takes := func(src, dst int) int { // by the number of the path among the live ones
		_, spine := s.At(src, dst)
		return max(0, slices.Index(lanes.Live(src, dst), t.PathOf(spine, s.Top(src, dst))))
	}
	p.Each(func(src, dst int) {
		n := len(lanes.Live(src, dst))
		most, all = max(most, n), all+n
	})
	if kept || all > mostLanes || most > math.MaxUint8 {
		p.Paths = scheduler.One(func(to []int32, src, dst int) []int32 { return lanes.Append(to, src, dst, takes(src, dst)) })
		return New(p, nil), lanes
	}
	path := make([]uint8, p.Hosts*p.Hosts)
	p.Each(func(src, dst int) { path[src*p.Hosts+dst] = uint8(takes(src, dst)) })
	return New(p, path), lanes
}

// phased is a schedule as one of the messages of an exchange.
func phased(p *Exchange, s *scheduler.Schedule) *scheduler.Plan {
	x := scheduler.NewPlan(s.Ranks, s.Name)
	x.Phases = s.Phases
	for m := range s.All() {
		if p.Meets(m.Src, m.Dst) {
			x.Phase[m.Src*s.Ranks+m.Dst] = int32(m.Phase)
		}
	}
	return x
}

// Share returns a pinned schedule that takes less time where links or hosts are slow: slow messages share
// phases, and in these others share links. It returns s itself if it finds none. kept: messages keep their paths.
func Share(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, kept bool) *scheduler.Schedule {
	steps := 0
	if s.Ranks > shareRanks {
		if len(r.Hosts)+len(r.Slow) == 0 {
			return s
		}
		steps = -1
	}
	p, lanes := ofSchedule(s, t, r, s.Meets, kept)
	first := phased(p, s)
	if steps < 0 && p.Time(first) <= nearly*p.Bound().Steps {
		return s
	}
	x := p.Shorter(first, steps)
	if x == first {
		return s
	}
	out := scheduler.FromMessages(s.Name, t.Wires, true, func(yield func(scheduler.Message) bool) {
		for m := range s.All() {
			m.Phase = x.At(m.Src, m.Dst)
			if live := lanes.Live(m.Src, m.Dst); live != nil && x.Path != nil {
				m.Spine, m.Top = t.Through(t.Leaf(m.Src), t.Leaf(m.Dst), live[x.Path[m.Src*s.Ranks+m.Dst]])
			}
			if !yield(m) {
				return
			}
		}
	})
	out.Moved = s.Moved
	return out
}

// shareRanks is up to how many servers phases are shared by a search of a second or two. In larger trees steps are filled once,
// unless the time is nearly that of the bound.
const (
	shareRanks = 400
	nearly     = 1.02
)

// TimeOf returns how long a pinned schedule takes where links or hosts are slow: a phase lasts as long as its slowest link
// needs for what it carries. phases are those that have messages, of those that there are.
func TimeOf(s *scheduler.Schedule, t *topology.Tree, r topology.Rates, there func(src, dst int) bool) (phases int, time float64) {
	p, _ := ofSchedule(s, t, r, func(src, dst int) bool { return s.Meets(src, dst) && there(src, dst) }, true)
	x := phased(p, s).Squeezed()
	return x.Phases, p.Time(x)
}
