package live

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/bench"
	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/results"
)

// A serversView is what each server did in the last slice, the slowest first.
type serversView struct {
	Case string
	Slow string // who is named in the case so far, and how
	Rows [][]string
	More int
}

const mostServerRows = 16

// serversOf holds the time of a server's messages, those that it sent and those that it got, against the usual one.
// Without phases messages share links, and their times tell nothing: then servers that stood still come first.
func serversOf(s *State) (v serversView) {
	c := s.Case(s.latest.Slice.Name)
	if c == nil || len(s.latest.Servers) == 0 {
		return v
	}
	v.Case = c.Name
	if i := slices.IndexFunc(s.Summary.Cases, func(x results.Case) bool { return x.Name == c.Name }); i >= 0 {
		v.Slow = s.Summary.Culprits(s.Summary.Cases[i])
	}
	share, resent := ofUsual(s.latest, c.Mode == modes.Sync)
	order := slices.Clone(s.latest.Servers)
	slices.SortStableFunc(order, func(a, b results.ServerCount) int {
		return cmp.Or(cmp.Compare(share[a.Server], share[b.Server]), cmp.Compare(b.StoodSec, a.StoodSec))
	})
	v.More = max(0, len(order)-mostServerRows)
	for _, x := range order[:len(order)-v.More] {
		rate := "–"
		if r := share[x.Server]; r > 0 {
			rate = fmt.Sprintf("%.0f %%", 100*r)
		}
		v.Rows = append(v.Rows, []string{nameOf(c, x.Server), rate, fmt.Sprint(resent[x.Server]), fmt.Sprintf("%.3g", x.BarrierWaitSec),
			fmt.Sprintf("%.3g", x.StoodSec), fmt.Sprint(x.Errors), fmt.Sprint(x.PausesSent)})
	}
	return v
}

// nameOf is the name of the server at a position.
func nameOf(c *bench.Planned, position int) string {
	if rank, ok := c.Plan.Tree.Rank(position); ok {
		return c.Plan.Tree.HostName(rank)
	}
	return fmt.Sprint("server", position)
}

// ofUsual returns, by position, the rate of a server's messages beside the usual one, 0 where it is not known, and the
// segments that were sent again.
func ofUsual(d bench.Done, timed bool) (share map[int]float64, resent map[int]uint64) {
	share, resent = map[int]float64{}, map[int]uint64{}
	each := map[int][]float64{} // seconds a byte
	for _, p := range d.Pairs {
		for _, at := range []int{p.Src, p.Dst} {
			resent[at] += p.Resent
			if timed && p.Bytes > 0 && p.Sec > 0 {
				each[at] = append(each[at], p.Sec/float64(p.Bytes))
			}
		}
	}
	var all []float64
	for at, of := range each {
		share[at] = lists.Sum(of, func(x float64) float64 { return x }) / float64(len(of))
		all = append(all, share[at])
	}
	usual := results.NewStat(all).Median
	for at := range share {
		share[at] = usual / share[at]
	}
	return share, resent
}
