package results

import "slices"

// killed is said of each case of a run that left no summary.
const killed = "the run was killed before it could judge its cases; what is shown are its samples alone"

// Salvage makes the summary of a run that left none: the cases that have samples,
// in the order in which they were measured, each incomplete and not valid. It
// holds what the samples and the predictions say, and nothing else.
func Salvage(m Manifest, samples []Sample) Summary {
	var order []SliceID
	of := map[SliceID][]Sample{}
	for _, s := range samples {
		k := SliceID{s.Case, s.Repeat}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], s)
	}
	sum := Summary{Schema: SummarySchema, Name: m.Name, Cases: []Case{}}
	for _, k := range order {
		c := Case{Name: k.Case, Repeat: k.Repeat, Model: m.Fabric.Model, Failures: []string{}, Reasons: []string{killed}, Warnings: []string{}}
		if i := slices.IndexFunc(m.Predictions, func(p Prediction) bool { return p.Case == k.Case }); i >= 0 {
			p := m.Predictions[i]
			c.Schedule, c.Routing, c.PlanHash, c.Phases, c.Bound = p.Schedule, p.Routing, p.PlanHash, p.Phases, p.Bound
			c.PredictedEfficiency = p.Efficiency
		}
		c.EventsPerSec, c.GoodputBitPerSec = rates(of[k])
		sum.Cases = append(sum.Cases, c)
	}
	return sum
}

// rates returns what each server built and received per second while it was
// sampled.
func rates(list []Sample) (events, goodput Stat) {
	sec, built, received := map[int]float64{}, map[int]float64{}, map[int]float64{}
	for _, s := range list {
		sec[s.Server] += s.IntervalSec
		built[s.Server] += float64(s.Events)
		received[s.Server] += float64(s.PayloadBytes) * 8
	}
	var e, g []float64
	for server, t := range sec {
		if t > 0 {
			e, g = append(e, built[server]/t), append(g, received[server]/t)
		}
	}
	slices.Sort(e) // the mean of a map's values must not depend on its order
	slices.Sort(g)
	return NewStat(e), NewStat(g)
}
