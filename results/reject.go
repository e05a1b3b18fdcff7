package results

import "fmt"

// When a slice is rejected: while it was measured, a server waited for a processor for
// more than maxDelay of the time, and for more than maxUnusual times what is usual in the
// run. On a machine that is always as busy no slice is worse than others; the interval of a
// case then says how much that matters.
const (
	maxDelay   = 0.10
	maxUnusual = 1.5
)

// Delay is the share of the time for which a server waited for a processor while it had
// something to do: the mean over servers of the run-queue delay of its threads, and the
// share of processors that was stolen. The worst machine counts. servers is how many there
// are on all machines; 0 where no machine told.
func Delay(loads []Load, servers int) float64 {
	most := 0.0
	machines := Machines(loads)
	for _, l := range machines {
		if l.WallSec <= 0 {
			continue
		}
		waited := 0.0
		if l.RunDelaySec != nil {
			waited = *l.RunDelaySec * float64(len(machines)) / float64(max(1, servers))
		}
		if l.StealSec != nil {
			waited += *l.StealSec / float64(max(1, l.Cores))
		}
		most = max(most, waited/l.WallSec)
	}
	return most
}

// repeated is why a slice does not count in place of which another of its case and round does.
const repeated = "measured again in its round, with less delay"

// Reject marks the slices that do not count, and why, from what their machines tell. Of
// the slices of a case in one round at most one counts, that with the least delay: a round
// is one observation, also where later slices have raised what is usual.
func Reject(slices []Slice) {
	var delays []float64
	for _, s := range slices {
		delays = append(delays, s.Delay)
	}
	limit := max(maxDelay, maxUnusual*NewStat(delays).Median)
	type place struct {
		name  string
		round int
	}
	least := map[place]*Slice{}
	for i := range slices {
		s := &slices[i]
		if s.Rejected = ""; s.Delay > limit {
			s.Rejected = fmt.Sprintf("servers waited for a processor for more than %.0f %% of the time, and %.1f times what was usual in this run",
				100*maxDelay, maxUnusual)
			continue
		}
		at := place{s.Case, s.Round}
		switch first := least[at]; {
		case first == nil:
			least[at] = s
		case first.Delay <= s.Delay:
			s.Rejected = repeated
		default:
			first.Rejected, least[at] = repeated, s
		}
	}
}

// Busy is the share of all processors of the busiest machine that was busy or stolen, 0
// where none told.
func Busy(loads []Load) float64 {
	most := 0.0
	for _, l := range Machines(loads) {
		all := l.WallSec * float64(l.Cores)
		if all <= 0 || l.CPUSec == nil || l.OthersSec == nil || l.StealSec == nil {
			continue
		}
		most = max(most, (*l.CPUSec+*l.OthersSec+*l.StealSec)/all)
	}
	return most
}
