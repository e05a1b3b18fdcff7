package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/internal/show"
	"evbench/results"
)

// The models, as results name them.
const (
	PhaseModel  = "phase"
	FluidModel  = "fluid"
	TCPModel    = "tcp"
	CreditModel = "credit"
)

// FabricKind is the name of the fabric of a simulated run in a manifest.
const FabricKind = "sim"

// A Case is a job with its description in the results.
type Case struct {
	Job
	Model string           // PhaseModel, FluidModel, TCPModel or CreditModel
	File  results.PlanFile // kept in the results; nil: no plan is
	// Case holds facts known beforehand (bench.Planned.Facts). The run fills in the rest.
	Case results.Case
	// Share is the load as a share of what the healthy network carries; 0: not known.
	Share float64
}

func (c *Case) summary(o *Outcome) results.Case {
	r := c.Case
	r.Name, r.Repeat, r.Mode, r.Simulated = c.Name, c.Repeat, c.Mode, c.Model
	r.Barrier = c.Timing.Barrier
	r.Exchanges, r.MeasuredSec, r.Complete = o.Exchanges, o.Span.Seconds(), true
	var waited float64
	for i, n := range o.Events {
		r.EventsBuilt += n
		waited += o.waited[i].Seconds() / float64(len(o.Events))
	}
	r.BarrierWaitSec = waited
	if span := o.Span.Seconds(); span > 0 {
		r.SetRates(builder.RolesOf(c.Plan.Tree), span, func(i int) (events, received, sent uint64) { return o.Events[i], o.Received[i], o.sent[i] })
		r.MeasuredEfficiency = c.Efficiency(o)
	}
	if o.Load != nil {
		r.Offered = results.NewOffered(c.Load, c.Share, *o.Load, r.EventsBuilt)
	}
	r.Judge(results.Evidence{})
	return r
}

// Efficiency is ideal time over time, as of a measured case. The ideal is the time of the bytes of
// the busiest server, for the events built, headers included.
func (j *Job) Efficiency(o *Outcome) float64 {
	built := lists.Sum(o.Events, func(n uint64) uint64 { return n })
	most, roles := 0.0, builder.RolesOf(j.Plan.Tree)
	for i, n := range o.Events {
		in := o.Received[i] + n*uint64(roles.Others(i)*j.Header)
		out := o.sent[i]
		if roles.Reads(i) {
			out += (built - n) * uint64(j.Header)
		}
		most = max(most, float64(in), float64(out))
	}
	return most * 8 / j.BitPerSec / o.Span.Seconds()
}

// links returns the bytes that each direction of each cable carried, and the bytes that the first
// plan puts there for the events built. Under ecmp, and where the plan changes on the way, there is
// no planned number.
func (c *Case) links(o *Outcome) []results.LinkCount {
	net := networkOf(c.Plan, c.Seed)
	planned := c.planned(o)
	out := make([]results.LinkCount, net.wires)
	for w := range out {
		link, direction := net.name(w)
		out[w] = results.LinkCount{Case: c.Name, Repeat: c.Repeat, Link: link, Direction: direction, Bytes: uint64(o.Wires[w] + 0.5)}
		if planned != nil {
			out[w].Planned, out[w].PlannedBytes = true, uint64(planned[w]+0.5)
		}
	}
	return out
}

// planned is the bytes that the plan puts on each wire: for every event that a server built, one
// fragment from each other server, of that server's mean size. nil where the plan does not say: in
// mode ordered, each window has its own plan.
func (c *Case) planned(o *Outcome) []float64 {
	if len(c.Changes) > 0 || c.Mode == modes.Ordered {
		return nil
	}
	means := c.means()
	load, _ := c.Plan.Loads(func(src, dst int) float64 {
		if c.Plan.Schedule != nil && !c.Plan.Schedule.Meets(src, dst) {
			return 0
		}
		return float64(o.Events[dst]) * (means[src] + float64(c.Header))
	})
	return load
}

// meanOver is about how many fragments the mean sizes cover, where sizes differ.
const meanOver = 4096

func (c *Case) means() []float64 {
	out := make([]float64, c.Plan.Tree.Servers())
	events := max(1, meanOver/len(out))
	if c.Equal {
		events = 1
	}
	for src := range out {
		for event := range events {
			out[src] += float64(c.Size(uint64(event), src)) / float64(events)
		}
	}
	return out
}

func (c *Case) mean() float64 {
	means := c.means()
	return lists.Sum(means, func(x float64) float64 { return x / float64(len(means)) })
}

// Memory estimates the bytes that a run of the cases takes at most, beside their plans: all
// outcomes, which wait until earlier ones are written, and the work on the largest of as many cases
// as there are processors.
func Memory(cases []*Case) uint64 { return memory(cases, parallel.Workers(0)) }

func memory(cases []*Case, workers int) uint64 {
	var total uint64
	var work []uint64
	for _, c := range cases {
		total += c.kept()
		work = append(work, c.flows())
	}
	slices.SortFunc(work, func(a, b uint64) int { return cmp.Compare(b, a) })
	for _, w := range work[:min(len(work), workers)] {
		total += w
	}
	return total
}

func (c *Case) kept() uint64 {
	samples := uint64(1)
	if c.Interval > 0 {
		samples += uint64(c.Duration / c.Interval)
	}
	total := uint64(c.Plan.Tree.Servers())*samples*sampleBytes + uint64(networkOf(c.Plan, c.Seed).wires)*wireBytes
	if c.Model == PhaseModel && c.Mode == modes.Sync {
		total += c.exchanges() * endBytes
	}
	return total
}

func (c *Case) flows() uint64 {
	n := uint64(c.Plan.Tree.Servers())
	switch {
	case c.Mode == modes.Ordered:
		return 2 * uint64(c.Window) * n * n * pieceBytes
	case c.Model == PhaseModel:
		return n * flowBytes
	}
	sources := n - 1
	if c.Sources > 0 {
		sources = min(sources, uint64(c.Sources))
	}
	credits := uint64(max(c.Credits, 1))
	if c.Model == TCPModel {
		waits := min(float64(c.TCP.Window), float64(credits)*(c.mean()+float64(c.Header))) / float64(max(1, c.TCP.Packet))
		return n * sources * (credits*flowBytes + uint64(waits+1)*packetBytes)
	}
	return n * sources * credits * flowBytes
}

// Sizes in bytes.
const (
	sampleBytes = 144 // a sample
	wireBytes   = 128 // the names and counters of a wire
	endBytes    = 8   // an exchange of the phase model
	pieceBytes  = 256 // a piece of a window, with its tokens
	flowBytes   = 256 // a message under way in the fluid model, with its place in lists
	packetBytes = 40  // a packet in the queue of a port
)

func (c *Case) exchanges() uint64 {
	each := float64(c.Plan.Phases()) * (8*(c.mean()+float64(c.Header))/c.BitPerSec + c.Timing.Overhead.Seconds())
	if each <= 0 {
		return 1
	}
	return uint64(min(c.Duration.Seconds()/each+1, maxExchanges))
}

// cost estimates the time that a model needs for a case, in followed messages. A message of the
// packet model has many packets; flows of the fluid model change the rates of others.
func (c *Case) cost() float64 {
	n := float64(c.Plan.Tree.Servers())
	size := c.mean() + float64(c.Header)
	exchanges := float64(c.Warmup) + c.Duration.Seconds()*c.BitPerSec/(8*n*size)
	if c.Exchanges > 0 {
		exchanges = float64(c.Warmup) + float64(c.Exchanges)
	}
	messages := n * n * max(1, exchanges)
	switch {
	case c.Model == CreditModel:
		return messages * max(1, size/float64(max(1, c.Lossless.Packet)))
	case c.Model == TCPModel:
		return messages * max(1, size/float64(max(1, c.TCP.Packet)))
	case c.Model == FluidModel:
		return messages * n
	case c.Mode == modes.Sync && c.Equal && c.Timing.punctual():
		return n*n + max(1, exchanges) // one exchange stands for all
	}
	return messages
}

// mostSchedules is the number of schedules that the answer to a simulation compares.
const mostSchedules = 3

// simulated is the answer of a simulation: what its plans would reach, beside what a plan can.
func simulated(cases []results.Case) *results.Answer {
	most := slices.MaxFunc(cases, func(x, y results.Case) int { return cmp.Compare(x.MeasuredEfficiency, y.MeasuredEfficiency) })
	models := map[string]bool{}
	e := answer.Evidence{Findings: results.Possible(cases)}
	for _, c := range cases {
		models[c.Simulated] = true
		if !c.Valid && len(c.Reasons) > 0 {
			e.Doubts = append(e.Doubts, answer.Doubt{Text: results.Quoted(c.Name) + ": " + c.Reasons[0]})
		}
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Offered != nil }) {
		e.Findings = results.Loaded(cases)
	} else if reached := reached(cases); len(cases) == 1 && len(e.Findings) == 1 {
		e.Why = []string{reached} // the finding names the case
	} else {
		e.Findings = append(e.Findings, answer.Finding{Text: reached})
	}
	what := "model "
	if len(models) > 1 {
		what = "models "
	}
	e.Why = append(e.Why, "simulated, not measured: "+what+strings.Join(slices.Sorted(maps.Keys(models)), " and "))
	if p := most.PredictedEfficiency; p > 0 && most.MeasuredEfficiency < results.GoodFrom*p {
		e.Why = append(e.Why, fmt.Sprintf("%s: predicted %.3f is what the loads of links allow; the simulation adds to each phase sim.overhead, jitter and the barrier, and gets %.3f",
			results.Quoted(most.Name), p, most.MeasuredEfficiency))
	}
	if most.MeasuredEfficiency == 0 {
		e = answer.Evidence{Doubts: []answer.Doubt{{Text: "the rate of the links is not known", Remedy: "state fabric.rate"}}, Why: e.Why}
	}
	return &results.Answer{Answer: answer.Decide(answer.Reach, e), Cases: []string{}}
}

// reached compares the schedules by the shares of the link rate that they keep. If there is one, or many, or a
// case has none, it names the best and the worst case of those with the most dead links.
func reached(cases []results.Case) string {
	var schedules, parts []string
	of := map[string][]float64{}
	for _, c := range cases {
		if of[c.Schedule] == nil {
			schedules = append(schedules, c.Schedule)
		}
		of[c.Schedule] = append(of[c.Schedule], c.MeasuredEfficiency)
	}
	if len(schedules) < 2 || len(schedules) > mostSchedules || len(schedules) == len(cases) || of[""] != nil {
		return extremes(cases)
	}
	for i, name := range schedules {
		share := show.Percent(slices.Max(of[name]))
		if low := slices.Min(of[name]); len(of[name]) > 1 {
			share = fmt.Sprintf("%.1f to %s", 100*low, share)
		}
		if i == 0 {
			share = "keeps " + share + " of the link rate"
		}
		parts = append(parts, name+" "+share)
	}
	return withDead("up to ", cases) + strings.Join(parts, ", ")
}

// extremes names the best and the worst case of those with the most dead links, where several have the same, without
// what a matrix adds to all their names.
func extremes(cases []results.Case) string {
	same := lists.By(cases, func(c results.Case) string { return strings.Join(c.Failures, "+") })
	among, dead := cases, ""
	for _, key := range slices.Sorted(maps.Keys(same)) {
		if len(same[key]) > 1 && (dead == "" || len(same[key][0].Failures) > len(among[0].Failures)) {
			among, dead = same[key], key
		}
	}
	by := func(x, y results.Case) int { return cmp.Compare(x.MeasuredEfficiency, y.MeasuredEfficiency) }
	most, least := slices.MaxFunc(among, by), slices.MinFunc(among, by)
	name := func(c results.Case) string { return results.Quoted(strings.TrimSuffix(c.Name, " "+dead)) }
	text := fmt.Sprintf("%s would reach %s of the link rate", name(most), show.Percent(most.MeasuredEfficiency))
	if dead != "" {
		text = withDead("", among) + text
	}
	if len(among) == 1 {
		return text
	}
	if text += fmt.Sprintf(", %s %s", name(least), show.Percent(least.MeasuredEfficiency)); len(among) > 2 {
		text += fmt.Sprintf(", the least of %d", len(among))
	}
	return text
}

// withDead says how many links are dead, "" where none is.
func withDead(upTo string, cases []results.Case) string {
	n := lists.MaxOf(cases, func(c results.Case) int { return len(c.Failures) })
	if n == 0 {
		return ""
	}
	return "with " + upTo + show.Plural(n, "dead link", "dead links") + " "
}

// answerOf is the answer of a simulation, nil without cases.
func answerOf(cases []results.Case) *results.Answer {
	if len(cases) == 0 || slices.ContainsFunc(cases, func(c results.Case) bool { return len(c.Failovers) > 0 }) {
		return results.NewAnswer(results.Setting{}, cases, nil, nil)
	}
	return simulated(cases)
}
