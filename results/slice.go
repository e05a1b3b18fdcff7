package results

import (
	"fmt"

	"evbench/internal/lists"
)

// A Slice is one measurement of one case: in one round, or a further one if the first was rejected.
type Slice struct {
	Case    string `json:"case"`
	Repeat  int    `json:"repeat"` // number of the slice among those of its case, from 0; as in samples.csv
	Round   int    `json:"round"`  // from 0
	Control bool   `json:"control,omitempty"`

	StartSec         float64 `json:"start_s"` // since the first slice of the run began
	EventsPerSec     float64 `json:"events_per_s"`
	GoodputBitPerSec float64 `json:"goodput_bit_per_s"` // per server
	Efficiency       float64 `json:"efficiency"`        // 0: the rate of the links is not known
	// Ratio is to the control of the same round; 0 without one.
	Ratio       float64 `json:"ratio_to_control"`
	Exchanges   uint64  `json:"exchanges"`
	MeasuredSec float64 `json:"measured_s"`
	// BarrierWaitSec is the mean over servers.
	BarrierWaitSec float64 `json:"barrier_wait_s"`
	Complete       bool    `json:"complete"`

	Load []Load `json:"load,omitempty"` // of each machine that told
	// Delay is the share of the time for which a server waited for a processor (see func Delay).
	Delay float64 `json:"delay"`
	// Rejected says how the machine disturbed the slice, so that it does not count; "": it counts.
	// The result of the slice plays no part.
	Rejected string `json:"rejected,omitempty"`

	// Took are the times in seconds of its exchanges, as in exchanges.csv; ordered: of its windows.
	Took []float64 `json:"-"`
}

// Value is the figure for comparing slices: the efficiency, or the goodput if no link rate is
// known.
func (s Slice) Value() float64 {
	if s.Efficiency > 0 {
		return s.Efficiency
	}
	return s.GoodputBitPerSec
}

// Counts reports whether the slice counts.
func (s Slice) Counts() bool { return s.Rejected == "" && s.Value() > 0 }

// Pair gives every slice its ratio to the control of its round, where both count.
func Pair(slices []Slice) {
	control := map[int]float64{}
	for _, s := range slices {
		if s.Control && s.Counts() {
			control[s.Round] = s.Value()
		}
	}
	for i := range slices {
		s := &slices[i]
		s.Ratio = 0
		if base := control[s.Round]; base > 0 && s.Counts() {
			s.Ratio = s.Value() / base
		}
	}
}

// Limits for rejecting a slice: while it was measured, a server waited for a processor for more
// than maxDelay of the time, and for more than maxUnusual times the usual in the run. On a machine
// that is always as busy no slice is worse than others; the interval of a case then shows the
// effect.
const (
	maxDelay   = 0.10
	maxUnusual = 1.5
)

// Delay is the share of the time for which a server waited for a processor while it had work: the
// mean over servers of the run-queue delay of its threads, plus the stolen share of processors. The
// worst machine counts. servers is the number on all machines; 0 where no machine told.
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

// repeated is the reason for rejecting a slice that another of its case and round replaces.
const repeated = "measured again in its round, with less delay"

// Reject marks the slices that do not count, with the reason, from the loads of their machines. Of
// the slices of a case in one round at most one counts, the one with the least delay: a round is
// one observation, also where later slices have raised the usual delay.
func Reject(slices []Slice) {
	delays := lists.Map(slices, func(s Slice) float64 { return s.Delay })
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

// Busy is the busy or stolen share of all processors of the busiest machine, 0 where no machine
// told.
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

// A SliceID names a slice.
type SliceID struct {
	Case   string
	Repeat int
}

// Measured are the cases as measured, one for each slice with only its figures. A rejected slice is
// not valid. A run without slices has its cases.
func (s Summary) Measured() []Case {
	if s.Slices == nil {
		return s.Cases
	}
	byName := map[string]Case{}
	for _, c := range s.Cases {
		byName[c.Name] = c
	}
	var out []Case
	for _, x := range s.Slices {
		c, ok := byName[x.Case]
		if !ok {
			continue // of a run that ended early
		}
		c.Repeat, c.Exchanges, c.MeasuredSec = x.Repeat, x.Exchanges, x.MeasuredSec
		c.EventsPerSec = NewStat([]float64{x.EventsPerSec})
		c.GoodputBitPerSec = NewStat([]float64{x.GoodputBitPerSec})
		c.MeasuredEfficiency, c.RatioToControl, c.BarrierWaitSec = x.Efficiency, x.Ratio, x.BarrierWaitSec
		if c.Complete = x.Complete; x.Rejected != "" {
			c.Valid, c.Reasons = false, []string{"rejected: " + x.Rejected}
		}
		out = append(out, c)
	}
	return out
}

// Merge returns a run as if each case had been measured in one piece: the slices that count, one
// after the other, each with the repeat 0 of its case. The figures come from them. A run without
// slices is returned as it is.
func (r *Run) Merge() *Run {
	if r.Summary.Slices == nil {
		return r
	}
	begin := map[SliceID]float64{} // of each slice that counts, since its case began
	passed := map[string]float64{}
	for _, s := range r.Summary.Slices {
		if s.Counts() {
			begin[SliceID{s.Case, s.Repeat}] = passed[s.Case]
			passed[s.Case] += s.MeasuredSec
		}
	}
	counts := func(name string, repeat int) bool { _, ok := begin[SliceID{name, repeat}]; return ok }
	out := &Run{Manifest: r.Manifest, Summary: r.Summary, Samples: make([]Sample, 0, len(r.Samples))}
	for _, s := range r.Samples {
		if counts(s.Case, s.Repeat) {
			s.Repeat, s.TSec = 0, s.TSec+begin[SliceID{s.Case, s.Repeat}]
			out.Samples = append(out.Samples, s)
		}
	}
	out.Links = merged(r.Links, func(l LinkCount) (LinkCount, bool) {
		return LinkCount{Case: l.Case, Link: l.Link, Direction: l.Direction, Planned: true}, counts(l.Case, l.Repeat)
	}, (*LinkCount).Add)
	out.Pairs = merged(r.Pairs, func(p PairCount) (PairCount, bool) {
		return PairCount{Case: p.Case, Src: p.Src, Dst: p.Dst}, counts(p.Case, p.Repeat)
	}, func(sum *PairCount, p PairCount) { sum.Add(p, begin[SliceID{p.Case, p.Repeat}]) })
	out.Servers = merged(r.Servers, func(s ServerCount) (ServerCount, bool) {
		return ServerCount{Case: s.Case, Server: s.Server}, counts(s.Case, s.Repeat)
	}, func(sum *ServerCount, s ServerCount) { sum.Add(s, begin[SliceID{s.Case, s.Repeat}]) })
	return out
}

// merged adds each row that counts to the row with the same key of(row), which starts empty.
func merged[T comparable](rows []T, of func(T) (empty T, counts bool), add func(sum *T, row T)) (out []T) {
	at := map[T]int{}
	for _, row := range rows {
		empty, counts := of(row)
		if !counts {
			continue
		}
		i, ok := at[empty]
		if !ok {
			i, at[empty], out = len(out), len(out), append(out, empty)
		}
		add(&out[i], row)
	}
	return out
}
