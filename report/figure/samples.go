package figure

import (
	"cmp"
	"slices"

	"evbench/results"
)

type key struct {
	name   string
	repeat int
}

func keyOf(c results.Case) key { return key{c.Name, c.Repeat} }

func samplesByCase(run *results.Run) map[key][]results.Sample {
	out := map[key][]results.Sample{}
	for _, s := range run.Samples {
		k := key{s.Case, s.Repeat}
		out[k] = append(out[k], s)
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b results.Sample) int { return cmp.Compare(a.TSec, b.TSec) })
	}
	return out
}

// wholeIntervals leaves out the samples of intervals cut short, such as the last
// one of a case: less than half the usual length, they are mostly noise.
func wholeIntervals(list []results.Sample) []results.Sample {
	least := usualInterval(list) / 2
	var out []results.Sample
	for _, s := range list {
		if s.IntervalSec >= least {
			out = append(out, s)
		}
	}
	return out
}

func usualInterval(list []results.Sample) float64 {
	return results.NewStat(each(list, interval)).Median
}

func interval(s results.Sample) float64 { return s.IntervalSec }

func each(list []results.Sample, of func(results.Sample) float64) []float64 {
	out := make([]float64, len(list))
	for i, s := range list {
		out[i] = of(s)
	}
	return out
}

type served struct {
	server  int
	goodput float64 // bit/s, payload received, mean over time
	waited  float64 // s in barriers
	sampled float64 // s
}

func byServer(list []results.Sample) []served {
	at := map[int]int{}
	var out []served
	for _, s := range list {
		i, ok := at[s.Server]
		if !ok {
			i = len(out)
			at[s.Server] = i
			out = append(out, served{server: s.Server})
		}
		out[i].goodput += s.GoodputBitPerSec * s.IntervalSec
		out[i].waited += s.BarrierWaitSec
		out[i].sampled += s.IntervalSec
	}
	for i := range out {
		if out[i].sampled > 0 {
			out[i].goodput /= out[i].sampled
		}
	}
	slices.SortFunc(out, func(a, b served) int { return cmp.Compare(a.server, b.server) })
	return out
}

type moment struct {
	t       float64 // s, the mean end of the interval
	servers int
	goodput results.Stat // bit/s
}

// moments joins the n-th samples of all servers, and leaves out those of intervals cut short.
func moments(list []results.Sample) []moment {
	count := map[int]int{}
	var joined [][]results.Sample
	for _, s := range list {
		n := count[s.Server]
		count[s.Server]++
		if n == len(joined) {
			joined = append(joined, nil)
		}
		joined[n] = append(joined[n], s)
	}
	least := usualInterval(list) / 2
	var out []moment
	for _, at := range joined {
		stat := func(of func(results.Sample) float64) results.Stat { return results.NewStat(each(at, of)) }
		if usualInterval(at) >= least {
			t := stat(func(s results.Sample) float64 { return s.TSec })
			out = append(out, moment{t.Mean, len(at), stat(func(s results.Sample) float64 { return s.GoodputBitPerSec })})
		}
	}
	return out
}

// quartiles returns the least, the three quartiles and the greatest of values,
// which it sorts.
func quartiles(values []float64) (q [5]float64) {
	if len(values) == 0 {
		return q
	}
	slices.Sort(values)
	for i := range q {
		q[i] = results.Quantile(values, float64(i)/4)
	}
	return q
}
