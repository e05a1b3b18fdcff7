package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// How far below its prediction a case is still as predicted. An interval over exchanges does not hold what varies
// between slices. The prediction of a case without phases is an upper bound: half of it is little.
const (
	ofExchanges = 0.10
	ofBound     = 0.5
	// ofLab is for links that evbench makes itself: a prediction leaves out barriers, and phases may be as short as
	// twenty of them.
	ofLab = 1 - badControl
	// alike is by how much cases may differ that one reason slows.
	alike = 0.2
	// shortPhase is how long a phase lasts in which a barrier may count, in seconds.
	shortPhase = 0.01
	// much is a shortfall that is one on hosts, whatever their processors do: they are part of what is measured.
	much = 0.5
)

// A share is how much of its prediction a case reached.
type share struct {
	Case
	Interval
	over string
	most float64 // 0, or where there is no interval what its median surely does not exceed
}

// place is where it lies beside its prediction, less a tolerance.
func (s share) place(tolerance float64) answer.Place {
	f, l := answer.Figure{Value: s.Median, Lo: math.NaN(), Hi: math.NaN()}, answer.Limit{Value: 1, Tolerance: tolerance}
	if s.Known() {
		f.Lo, f.Hi = *s.Lo, *s.Hi
	} else if s.most > 0 {
		f.Lo, f.Hi = math.Inf(-1), s.most
	}
	switch {
	case s.Mode != modes.Sync:
		l = answer.Limit{Value: ofBound}
	case s.over == OverExchanges:
		l.Tolerance = max(l.Tolerance, ofExchanges)
	}
	return f.Beside(l)
}

func (r *reading) place(s share) answer.Place {
	if r.hosts() {
		return s.place(Tolerance)
	}
	return s.place(ofLab)
}

// short reports whether a case is below its prediction. Who is slow in it tells so where its interval does not.
func (r *reading) short(s share) bool {
	return r.place(s) == answer.Below || r.slowed(s) || len(s.blamed(r.machine())) > 0 && s.Median < 1-Tolerance
}

// slowed reports whether a case on hosts is below its prediction by less than its exchanges may vary, and the machine
// says that it was disturbed.
func (r *reading) slowed(s share) bool {
	s.over = OverRounds
	return r.hosts() && s.Mode == modes.Sync && r.place(s) == answer.Below && r.machine().explains(1-s.Median)
}

// counted are the slices of a case that count.
func (r *reading) counted(c Case) []Slice {
	return lists.Filter(r.all, func(s Slice) bool { return s.Case == c.Name && s.Counts() && s.Efficiency > 0 })
}

// fewest observations are all below the true median in one case of 32: less often than 1 - Confidence.
const fewest = 5

// shares are those of the cases that have a prediction, in their order.
func (r *reading) shares() (out []share) {
	for _, c := range r.cases {
		of := r.counted(c)
		i, over := valuesOf(of, Slice.efficiency)
		p := c.PredictedEfficiency
		if p == 0 || i.N == 0 || c.changes() || r.saturated(c) != "" {
			continue
		}
		i.Median /= p
		s := share{Case: c, Interval: i, over: over}
		if i.Known() {
			s.Lo, s.Hi = new(*i.Lo/p), new(*i.Hi/p)
		} else if all := exchanges(of, Slice.efficiency); len(all) >= fewest {
			s.over, s.most = OverExchanges, slices.Max(all)/p
		}
		out = append(out, s)
	}
	return out
}

// shortfalls are the cases that stay below their prediction: those that are known to, and those that the machine
// may have slowed. What slows all cases alike is one finding; no ratio to the control shows it. Where only ratios
// are asked for, that is none.
func (r *reading) shortfalls(subjects []int, ratios bool) (known, doubted []answer.Finding) {
	add := func(s share, f answer.Finding) {
		if slow := r.culprit(s.Case); slow != "" { // a busy machine slows all, not one
			f.Place, f.Cause = answer.Below, slow
			known = append(known, f)
			return
		}
		if f.Place = answer.Below; r.doubts(1-s.Median) || r.place(s) != answer.Below {
			f.Cause, f.Doubts = "", []answer.Doubt{{Text: r.machine().sign, Remedy: r.quieter()}}
			doubted = append(doubted, f)
			return
		}
		known = append(known, f)
	}
	all := r.shares()
	short := lists.Filter(all, r.short)
	if s, ok := r.together(all, short); ok && (len(all) > 1 || r.single()) {
		if f := r.every(s, all); ratios {
			doubted = append(doubted, answer.Finding{Text: f.Text, Place: answer.Across})
		} else {
			add(s, f)
		}
	} else {
		for _, s := range short {
			add(s, answer.Finding{Text: fmt.Sprintf("%s reaches %.0f %% of %s, %.0f %% was predicted", s.called(), 100*s.Median*s.PredictedEfficiency, r.rate(), 100*s.PredictedEfficiency)})
		}
	}
	for _, i := range subjects {
		if c := r.cases[i]; len(known) == 0 && c.behind() && !slices.ContainsFunc(all, func(s share) bool { return s.Name == c.Name && s.place(Tolerance) == answer.At }) {
			known = append(known, answer.Finding{Place: answer.Below,
				Text: fmt.Sprintf("%s reaches %.0f %% of %s, %.0f %% was predicted", Quoted(c.Name), 100*c.Estimate.Median, r.reference(), 100*c.PredictedRatio)})
		}
	}
	return known, doubted
}

// together reports whether all cases in phases are short, and all cases by about as much: the one in the middle.
func (r *reading) together(all, short []share) (share, bool) {
	if len(short) == 0 || slices.ContainsFunc(all, func(s share) bool { return s.Mode == modes.Sync && !r.short(s) }) {
		return share{}, false
	}
	middle := slices.SortedFunc(slices.Values(short), func(a, b share) int { return cmp.Compare(a.Median, b.Median) })[(len(short)-1)/2]
	return middle, !slices.ContainsFunc(all, func(s share) bool { return math.Abs(s.Median/middle.Median-1) > alike })
}

// every states that all cases are as short as one of them, and what can be the cause.
func (r *reading) every(s share, all []share) (f answer.Finding) {
	limit := "that rate"
	if f.Text = r.only(s.Case).Text; len(all) > 1 {
		of := lists.Map(all, func(s share) float64 { return 100 * s.Median })
		if f.Text = fmt.Sprintf("every case reaches %.0f %% of its prediction", 100*s.Median); slices.Max(of)-slices.Min(of) > 100*Tolerance {
			f.Text = fmt.Sprintf("every case reaches %.0f to %.0f %% of its prediction", slices.Min(of), slices.Max(of))
		}
		if r.hosts() && !slices.ContainsFunc(all, func(s share) bool { return s.PredictedEfficiency < 1-Tolerance }) {
			f.Text += " (" + r.rate() + ")"
		} else {
			limit = "the stated rate"
		}
	} else if s.PredictedEfficiency < 1-Tolerance {
		f.Text += fmt.Sprintf(", %.0f %% was predicted", 100*s.PredictedEfficiency)
	}
	if r.doubts(1-s.Median) || r.culprit(s.Case) != "" {
		return f
	}
	if s.N > 1 && s.over == OverRounds && s.HalfWidth() <= alike*s.Median {
		f.Text += ", in all rounds alike"
	}
	var causes []string // of a lab's links nothing is known but that they are evbench's
	if r.hosts() {
		causes = []string{"a link", "a host", limit}
	}
	m, phase := r.machine(), s.MeasuredSec/float64(s.Exchanges*uint64(max(1, s.Phases)))
	switch {
	case m.sign != "":
		f.Cause = show.Or(append(causes, "this machine ("+m.text()+")"))
	case s.Exchanges > 0 && phase < shortPhase && s.Mode == modes.Sync:
		f.Cause = show.Or(append(causes, fmt.Sprintf("barriers (phases of %s)", span(phase))))
	case m.told && len(causes) == 0:
		f.Text += "; not this machine (" + m.text() + ")"
	case m.told:
		f.Cause = show.Or(causes) + "; not this machine (" + m.text() + ")"
	default:
		f.Cause = show.Or(causes)
	}
	return f
}

// beyond doubts a stated rate that a case exceeds by more than a measurement may.
func (r *reading) beyond() (out []answer.Doubt) {
	all := lists.Filter(r.shares(), func(s share) bool { return s.Median*s.PredictedEfficiency > overOne })
	if !r.hosts() || len(all) == 0 {
		return nil
	}
	s := slices.MaxFunc(all, func(a, b share) int {
		return cmp.Compare(a.Median*a.PredictedEfficiency, b.Median*b.PredictedEfficiency)
	})
	text := fmt.Sprintf("%s reaches %.0f %% of %s, more than a link carries", Quoted(s.Name), 100*s.Median*s.PredictedEfficiency, r.rate())
	return []answer.Doubt{{Text: text, Remedy: "state the true rate (fabric.rate)"}}
}

// behind reports whether a synchronised case stays below its prediction beside the control. The prediction of
// another one is an upper bound.
func (c Case) behind() bool {
	e := c.Estimate
	return c.Mode == modes.Sync && c.PredictedRatio > 0 && c.Verdict == Resolved && e.Of == OfRatio &&
		e.Median+e.HalfWidth() < c.PredictedRatio-Tolerance*max(1, c.PredictedRatio)
}

// processors are what the processors of the machines say of a run themselves.
type processors struct {
	told  bool    // a machine did
	delay float64 // the usual one of its slices
	sign  string  // of a disturbance; "": there is none
}

func (p processors) text() string {
	if p.sign != "" && p.delay < Tolerance {
		return "processors busy"
	}
	return fmt.Sprintf("delay %.0f %%", 100*p.delay)
}

// mostRejected is the share of rejected slices from which on a machine is said to have disturbed a run.
const mostRejected = 0.25

func processorsOf(cases []Case, all []Slice) (p processors) {
	counted := lists.Filter(all, func(s Slice) bool { return s.Rejected == "" })
	p.told = slices.ContainsFunc(counted, func(s Slice) bool { return len(s.Load) > 0 })
	p.delay = NewStat(lists.Map(counted, func(s Slice) float64 { return s.Delay })).Median
	rejected := lists.CountIf(all, func(s Slice) bool { return s.Rejected != "" && s.Rejected != repeated })
	switch {
	case p.delay >= Tolerance:
		p.sign = fmt.Sprintf("servers waited %.0f %% of the time for a processor", 100*p.delay)
	case float64(rejected) > mostRejected*float64(len(all)):
		p.sign = fmt.Sprintf("%d of %d slices were rejected, as servers waited for processors", rejected, len(all))
	case lists.MaxOf(cases, func(c Case) float64 { return c.CPUBusy }) > maxBusy:
		p.sign = fmt.Sprintf("processors were busy more than %.0f %% of the time", 100*maxBusy)
	}
	return p
}

// explains reports whether a machine may be the cause of such a shortfall: it says so itself, and it was no less.
func (p processors) explains(short float64) bool {
	const (
		times = 2    // a phase waits for the slowest of its servers
		busy  = 0.25 // processors that are busy, and yet keep no server waiting, cost less than this
	)
	return p.sign != "" && (p.delay < Tolerance && short < busy || times*p.delay >= short)
}

// Disturbed says how the machine disturbed a run, "" where that does not explain a loss of such a share.
func Disturbed(s Summary, loss float64) string {
	if p := processorsOf(s.Cases, s.Slices); p.explains(loss) {
		return p.sign
	}
	return ""
}

func (r *reading) machine() processors { return processorsOf(r.cases, r.all) }

// doubts reports whether a shortfall may be the machine's.
func (r *reading) doubts(short float64) bool {
	return r.machine().explains(short) && !(r.hosts() && short >= much)
}

// quieter is what helps against a busy machine on this fabric.
func (r *reading) quieter() string {
	switch r.Fabric.Kind {
	case "lab", "emulate":
		return "lower the rate (--rate auto)"
	case "hosts":
		return "leave the processors to this run"
	}
	return "take a longer --duration" // simulated
}
