package results

// A sliceID names a slice.
type sliceID struct {
	name   string
	repeat int
}

// Measured are the cases as they were measured, one for each slice with the figures of
// that alone; one that was rejected is not valid. Of a run without slices they are its
// cases.
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

// Merge returns a run as if each case had been measured in one piece: what the slices that
// count hold, one after the other, each with the repeat 0 of its case. Figures are drawn of
// that. A run without slices is returned as it is.
func (r *Run) Merge() *Run {
	if r.Summary.Slices == nil {
		return r
	}
	begin := map[sliceID]float64{} // of each slice that counts, since its case began
	passed := map[string]float64{}
	for _, s := range r.Summary.Slices {
		if s.Counts() {
			begin[sliceID{s.Case, s.Repeat}] = passed[s.Case]
			passed[s.Case] += s.MeasuredSec
		}
	}
	out := &Run{Manifest: r.Manifest, Summary: r.Summary, Samples: make([]Sample, 0, len(r.Samples))}
	for _, s := range r.Samples {
		if at, ok := begin[sliceID{s.Case, s.Repeat}]; ok {
			s.Repeat, s.TSec = 0, s.TSec+at
			out.Samples = append(out.Samples, s)
		}
	}
	out.Links = mergeLinks(r.Links, begin)
	out.Pairs = mergePairs(r.Pairs, begin)
	return out
}

func mergeLinks(links []LinkCount, counts map[sliceID]float64) []LinkCount {
	var out []LinkCount
	at := map[[3]string]int{}
	for _, l := range links {
		if _, ok := counts[sliceID{l.Case, l.Repeat}]; !ok {
			continue
		}
		k := [3]string{l.Case, l.Link, l.Direction}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			l.Repeat = 0
			out = append(out, l)
			continue
		}
		out[i].Add(l)
	}
	return out
}

func mergePairs(pairs []PairCount, counts map[sliceID]float64) []PairCount {
	type pair struct {
		name     string
		src, dst int
	}
	var out []PairCount
	at := map[pair]int{}
	for _, p := range pairs {
		if _, ok := counts[sliceID{p.Case, p.Repeat}]; !ok {
			continue
		}
		k := pair{p.Case, p.Src, p.Dst}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			p.Repeat = 0
			out = append(out, p)
			continue
		}
		out[i].Bytes += p.Bytes
		out[i].Sec += p.Sec
	}
	return out
}
