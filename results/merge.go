package results

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
	}, func(sum *PairCount, p PairCount) { sum.Bytes, sum.Sec = sum.Bytes+p.Bytes, sum.Sec+p.Sec })
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
