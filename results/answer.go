package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results/attribution"
	"evbench/scheduler/schedules"
)

// An Answer is the result of a run in words.
type Answer struct {
	answer.Answer
	// Cases are the cases that the sentence compares, without the control.
	Cases []string `json:"cases"`
}

// A Setting is what the answer of a run needs beside its cases.
type Setting struct {
	Fabric  Fabric
	Cables  int      // between leaves and spines; 0: not known
	Asked   []string // the cases that the scenario names for the answer
	Found   []Found  // what searches for rates found
	Stopped string   // of a run that ended early: "interrupted after 3 of 9 s"
}

// hosts reports whether the links are not evbench's: nothing looked at them, and their rate is only stated.
func (s Setting) hosts() bool { return s.Fabric.Kind == "hosts" }

// rate names the limit of all throughput.
func (s Setting) rate() string {
	if s.hosts() {
		return "the stated " + rateText(float64(s.Fabric.RateBitPerSec))
	}
	return "the link rate"
}

// A reading is a run, read for its answer.
type reading struct {
	Setting
	cases    []Case
	all      []Slice
	compared []Comparison
	control  *Case // nil without one
}

// NewAnswer makes the answer of a run from cases that have been assessed and judged, nil without any.
func NewAnswer(s Setting, cases []Case, all []Slice, compared []Comparison) *Answer {
	if len(cases) == 0 {
		return nil
	}
	r := &reading{Setting: s, cases: cases, all: all, compared: compared}
	if i := slices.IndexFunc(cases, func(c Case) bool { return c.Control }); i >= 0 {
		r.control = &cases[i]
	}
	q, e, subjects := r.evidence()
	if s.Stopped != "" { // what was measured is told, what is in doubt about it no longer matters
		e.Doubts = []answer.Doubt{{Text: s.Stopped}}
		e.Findings = lists.Filter(e.Findings, func(f answer.Finding) bool { return len(f.Doubts) == 0 })
	}
	return &Answer{answer.Decide(q, e), append([]string{}, lists.Map(subjects, func(i int) string { return cases[i].Name })...)}
}

// evidence returns the question of a run, what the run holds on it, and the cases that it is about.
func (r *reading) evidence() (q answer.Question, e answer.Evidence, subjects []int) {
	if len(r.Found) > 0 {
		return r.searched()
	}
	q, e.Findings, subjects = r.asked()
	if q != answer.Follow && q != answer.Load {
		possible := Possible(r.cases)
		if len(possible) == 1 && len(possible[0].Doubts) > 0 && len(r.compared) == 1 && len(e.Findings[0].Doubts) == 0 {
			e.Findings[0].Doubts, possible = possible[0].Doubts, nil // beside the figure that was measured
		}
		e.Findings = slices.Concat(possible, e.Findings)
	}
	var short, doubted []answer.Finding
	if q != answer.Follow {
		short, doubted = r.shortfalls(subjects, q == answer.Cost && !r.hosts())
	}
	if len(short)+len(doubted) > 0 && r.single() && q != answer.Load {
		e.Findings = nil // the shortfall has its figures
	}
	if q == answer.Speed || r.control == nil { // a ratio does not depend on the rate that is stated
		if e.Doubts = r.beyond(); len(e.Doubts) > 0 {
			e.Findings = nil
		}
	}
	if q == answer.Speed {
		e.Findings = slices.Concat(doubted, e.Findings)
	} else { // a ratio to the control holds on a busy machine, too
		e.Findings = append(e.Findings, doubted...)
	}
	e.Findings = slices.Concat(short, e.Findings)
	lost, wrong := r.wrong(subjects)
	if len(wrong) > 0 && len(short) > 0 {
		e.Why, wrong = lists.Map(wrong, func(d answer.Doubt) string { return d.Text }), nil // signs of what slows it
	}
	if len(lost) > 0 { // they decide
		e.Doubts = nil
	}
	e.Doubts, e.Findings = append(wrong, e.Doubts...), slices.Concat(lost, e.Findings)
	if len(short) == 0 {
		r.suspects(&e)
	}
	return q, e, subjects
}

// asked is the question of a run by its cases, what they show on it, and which they are.
func (r *reading) asked() (q answer.Question, found []answer.Finding, subjects []int) {
	q = answer.Speed
	switch loaded := r.loaded(); {
	case len(loaded) > 0:
		q, subjects, found = answer.Load, loaded, r.offers(loaded)
	case len(r.compared) > 0 && !r.single():
		if slices.ContainsFunc(r.compared, func(x Comparison) bool { return len(x.Dead) > 0 }) {
			q = answer.Cost
		}
		subjects = slices.Concat(lists.Map(r.compared, func(x Comparison) []int { return x.Cases })...)
		found = r.comparisons()
	case slices.ContainsFunc(r.cases, func(c Case) bool { return len(c.Failovers) > 0 }):
		q = answer.Follow
		found, subjects = r.outages()
	default:
		subjects = r.rest()
		if found = r.alone(subjects); slices.ContainsFunc(subjects, func(i int) bool { return r.cases[i].changes() }) {
			q = answer.Death
		}
	}
	return q, found, subjects
}

// suspects adds who stands out although no case is short of its prediction for it: what loses segments is said beside
// the first finding, since it will cost more at other times; the rest below.
func (r *reading) suspects(e *answer.Evidence) {
	said := false
	for _, c := range r.cases {
		loses := slices.IndexFunc(c.Causes, func(x attribution.Cause) bool { return x.Loses() })
		switch {
		case len(c.Causes) == 0:
		case loses >= 0 && len(e.Findings) > 0 && !said && !c.changes(): // links that the run takes down lose what is on them
			said = true
			e.Findings = slices.Insert(e.Findings, 1, answer.Finding{Text: c.Causes[loses].Text(c.MeasuredSec), Place: answer.At})
		default:
			if slow := c.slow(r.machine()); slow != "" {
				e.Why = append(e.Why, c.called()+": "+slow)
			}
		}
	}
}

// single reports whether a run has but one case, on links that are up.
func (r *reading) single() bool {
	return len(r.cases) == 1 && len(r.cases[0].Failures) == 0 && r.cases[0].Estimate != nil
}

// rest are the cases that are not the control, or else the control.
func (r *reading) rest() (out []int) {
	for i, c := range r.cases {
		if !c.Control && c.Estimate != nil {
			out = append(out, i)
		}
	}
	if at := slices.IndexFunc(r.cases, func(c Case) bool { return c.Control && c.Estimate != nil }); len(out) == 0 && at >= 0 {
		return []int{at}
	}
	return out
}

// wrong are the lost events of cases that the answer needs, and what else makes them wrong. That a control is
// slow, or that a run was interrupted, is no reason of its own here.
func (r *reading) wrong(subjects []int) (lost []answer.Finding, doubts []answer.Doubt) {
	for i, c := range r.cases {
		if c.Valid || !c.Complete || !c.Control && !slices.Contains(subjects, i) {
			continue
		}
		for _, why := range c.Reasons {
			text := c.called() + ": " + strings.TrimSuffix(why, ".")
			switch {
			case strings.HasPrefix(why, controlReached):
			case c.EventsLost+c.EventsDuplicate > 0 && len(lost) == 0:
				lost = append(lost, answer.Finding{Text: text, Place: answer.Below})
			default:
				doubts = append(doubts, answer.Doubt{Text: text})
			}
		}
	}
	if len(lost) > 0 { // lost events decide, whatever else is wrong
		return lost, nil
	}
	return nil, doubts
}

// mostSentences is the most sets of dead links and sizes, or cases, in an answer.
const mostSentences = 3

// comparisons states what the cases of each set of dead links and sizes reach.
func (r *reading) comparisons() (out []answer.Finding) {
	for i, x := range r.compared {
		if i == mostSentences {
			out = append(out, answer.Finding{Text: fmt.Sprintf("the table has %s of dead cables and sizes more", number(len(r.compared)-i, "set", "sets"))})
			break
		}
		out = append(out, r.comparison(x)...)
	}
	return out
}

// comparison states what the cases of one set reach, in one finding, and what they do not show in further ones.
func (r *reading) comparison(x Comparison) (out []answer.Finding) {
	known := lists.Filter(x.Cases, func(i int) bool { return r.cases[i].Estimate != nil })
	open := lists.Filter(known, func(i int) bool { return r.cases[i].open() })
	if len(known) == 0 {
		return nil
	}
	f := answer.Finding{Text: r.sentence(x, known), Place: answer.At}
	switch {
	case !r.absolute(known) && r.ratedNot() && len(x.Dead) == 0, r.absolute(known) && r.ratedNot():
		f.Doubts = []answer.Doubt{noRate}
	case len(open) == len(known) && r.once(open) && !r.cases[open[0]].Estimate.Known():
		f.Doubts = []answer.Doubt{again}
	case len(open) == len(known) && r.once(open):
		f.Doubts = []answer.Doubt{{Text: "intervals of one round are too wide", Remedy: "measure more (--rounds, --limit)"}}
	case 2*len(open) > len(known):
		names := lists.Map(known, func(i int) string { return Quoted(r.cases[i].Name) })
		f = answer.Finding{Text: "the intervals are too wide to compare " + show.And(names), Place: answer.Across}
		if len(known) == 1 {
			f.Text = fmt.Sprintf("the interval of %s is too wide for an answer", names[0])
		}
		f.Text += ": " + r.more(open)
	case len(r.Asked) == 0 && r.mostOpen():
		f.Doubts = []answer.Doubt{{Text: "most cases of the table are not resolved", Remedy: "measure longer (--limit, --duration)"}}
	case len(open) > 0:
		names := lists.Map(open, func(i int) string { return Quoted(r.cases[i].Name) })
		out = append(out, answer.Finding{Text: "not resolved: " + strings.Join(names, ", "), Place: answer.Across})
	}
	out = slices.Insert(out, 0, f)
	for _, text := range equals(r.cases, x.Cases) {
		out = append(out, answer.Finding{Text: text, Place: answer.At})
	}
	if c := r.control; len(x.Dead) == 0 && c != nil && c.PredictedEfficiency > 0 && f.Place == answer.At {
		out = append(out, answer.Finding{Text: fmt.Sprintf("%s reaches %.0f %% of %s", r.reference(), 100*c.MeasuredEfficiency, r.rate()), Place: answer.At})
	}
	return out
}

// ratedNot reports whether nothing says how fast the links are.
func (r *reading) ratedNot() bool { return r.Fabric.RateBitPerSec == 0 && r.hosts() }

// mostOpen reports whether most rows of the table say nothing certain.
func (r *reading) mostOpen() bool {
	rows := lists.Filter(r.cases, func(c Case) bool { return !c.Control && c.Estimate != nil && !c.changes() })
	return 2*lists.CountIf(rows, Case.open) > len(rows)
}

// open reports whether the interval of a case is too wide to say what it shows: the order of the cases may be
// noise, or the interval is as wide as the difference from the control.
func (c Case) open() bool {
	e := c.Estimate
	return e == nil || c.Verdict == Unresolved ||
		c.Verdict == Ranked && e.Of == OfRatio && e.HalfWidth() > math.Abs(e.Median-1)/2 && !e.Resolved()
}

var (
	noRate = answer.Doubt{Text: "nothing says how fast the links are", Remedy: "state fabric.rate"}
	again  = answer.Doubt{Text: "one round has no interval", Remedy: "measure more (--rounds, --limit)"}
)

// more says what would narrow the intervals of cases.
func (r *reading) more(open []int) string {
	widest := slices.MaxFunc(open, func(i, j int) int {
		a, b := r.cases[i].Estimate, r.cases[j].Estimate
		return cmp.Compare(a.HalfWidth()/a.Median, b.HalfWidth()/b.Median)
	})
	e := r.cases[widest].Estimate
	return moreRounds(e.Interval, e.Over)
}

// moreRounds says how many rounds more would make an interval as narrow as the tolerance, where that is known.
func moreRounds(i Interval, over string) string {
	if over != OverRounds || !i.Known() {
		return "measure longer (--limit, --duration)"
	}
	f := answer.Figure{Value: i.Median, Lo: i.Median - i.HalfWidth(), Hi: i.Median + i.HalfWidth()}
	return answer.Needs(f, answer.Limit{Value: i.Median * (1 - Tolerance)}, i.N)
}

// once reports whether the cases were measured in one round, which has no interval.
func (r *reading) once(cases []int) bool {
	return !slices.ContainsFunc(cases, func(i int) bool {
		c := r.cases[i]
		return c.Rounds != 1
	})
}

// alone describes cases without a comparison: their links change on the way, or there is but one.
func (r *reading) alone(subjects []int) (out []answer.Finding) {
	if r.single() {
		return []answer.Finding{r.only(r.cases[subjects[0]])}
	}
	for i, at := range subjects {
		if i == mostSentences {
			out = append(out, answer.Finding{Text: fmt.Sprintf("the table has %s more", number(len(subjects)-i, "case", "cases"))})
			break
		}
		c := r.cases[at]
		f := answer.Finding{Text: Quoted(c.Name) + " reaches " + r.reaches(c)}
		switch {
		case c.Estimate.Of == OfRatio && c.PredictedRatio > 0:
			f.Text += fmt.Sprintf(", %.0f %% was predicted", 100*c.PredictedRatio)
		case r.ratedNot():
			f.Doubts = []answer.Doubt{noRate}
		}
		if !c.Estimate.Known() && c.Rounds == 1 && len(f.Doubts) == 0 {
			f.Doubts = []answer.Doubt{again}
		}
		out = append(out, f)
	}
	return out
}

// only describes the one case of a run.
func (r *reading) only(c Case) answer.Finding {
	who := "each server builds"
	if c.Roles != nil {
		who = "each event builder builds"
	}
	f := answer.Finding{Text: fmt.Sprintf("%s %s events/s, ", who, eventRate(c.EventsPerSec.Mean))}
	all := r.shares()
	at := slices.IndexFunc(all, func(s share) bool { return s.Name == c.Name })
	if at < 0 {
		f.Text += rateText(c.GoodputBitPerSec.Mean)
		if r.ratedNot() {
			f.Doubts = []answer.Doubt{noRate}
		}
		return f
	}
	s := all[at]
	f.Text += percents(s.Median*s.PredictedEfficiency, s.Interval, 1/s.PredictedEfficiency) + " of " + r.rate()
	f.Place = r.place(s)
	switch {
	case f.Place == answer.Across && !s.Known() && s.N == 1:
		f.Doubts = []answer.Doubt{again}
	case f.Place == answer.Across && r.machine().explains(1-s.Median):
		f.Doubts = []answer.Doubt{{Text: r.machine().sign, Remedy: r.quieter()}}
	case f.Place == answer.Across:
		f.Doubts = []answer.Doubt{{Text: "the interval is too wide", Remedy: moreRounds(s.Interval, s.over)}}
	}
	return f
}

// percents writes a share in per cent with its interval, a small one with two digits.
func percents(x float64, i Interval, whole float64) string {
	if x < 0.01 {
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%%s", 100*x, plusMinus(i, whole, ""))
}

// eventRate writes a rate with three digits.
func eventRate(x float64) string {
	if x >= 999.5 {
		return show.Commas(int(math.Round(x)))
	}
	return fmt.Sprintf("%.3g", x)
}

// absolute reports whether the figures of cases are not ratios: the run has no control.
func (r *reading) absolute(cases []int) bool {
	return slices.ContainsFunc(cases, func(i int) bool { return r.cases[i].Estimate.Of != OfRatio })
}

// sentence states what cases reach, or what their dead links cost them: of many, the most and the least.
func (r *reading) sentence(x Comparison, known []int) string {
	costs := len(x.Dead) > 0 && x.Sizes == "" && !slices.ContainsFunc(known, func(i int) bool {
		e := r.cases[i].Estimate
		return e.Of != OfRatio || math.Round(100*e.Median) > 100 || r.cases[i].changes()
	})
	shown := known
	if len(known) > 2 {
		by := func(i, j int) int { return cmp.Compare(r.cases[i].Estimate.Median, r.cases[j].Estimate.Median) }
		shown = []int{slices.MaxFunc(known, by), slices.MinFunc(known, by)}
		if costs { // the highest cost first
			slices.Reverse(shown)
		}
	}
	text := ""
	for n, i := range shown {
		c := r.cases[i]
		name, figure := Quoted(c.Name), r.reaches(c)
		if costs {
			figure = fmt.Sprintf("%.0f %%%s of the throughput", max(0, 100*(1-c.Estimate.Median)), plusMinus(c.Estimate.Interval, 1, ""))
		}
		switch {
		case n > 0 && len(known) > 2:
			figure = "; " + name + " " + cut(figure) + ", the least"
		case n > 0:
			figure = ", " + name + " " + cut(figure)
		case costs:
			figure = name + " " + figure
		case len(known) == 1 && c.Estimate.Of == OfRatio && c.Estimate.Median >= fastFrom:
			figure = fmt.Sprintf("%s is %.2f%s times as fast as %s", name, c.Estimate.Median, plusMinusOf(c.Estimate.Interval), r.reference())
		default:
			figure = name + " reaches " + figure
		}
		if n == 0 && len(known) > 2 {
			figure += fmt.Sprintf(", the most of %s", number(len(known), "case", "cases"))
		}
		if costs && c.least() {
			figure = strings.TrimSuffix(figure, ", the least") + ", the least possible"
		}
		text += figure
	}
	return r.about(x, costs) + text
}

// fastFrom is the ratio from which a case is so many times as fast.
const fastFrom = 1.5

// cut removes what is said once in a sentence: of what a figure is.
func cut(figure string) string {
	figure, _, _ = strings.Cut(figure, " of ")
	return strings.TrimSuffix(figure, " per server")
}

// about begins a sentence with its dead links and sizes.
func (r *reading) about(x Comparison, costs bool) string {
	links := lists.Filter(x.Dead, func(f string) bool { return !strings.Contains(f, " at ") })
	text := number(len(x.Dead), "dead cable", "dead cables")
	if len(links) < len(x.Dead) {
		text = strings.Join(x.Dead, " and ")
	} else if r.Cables > 0 {
		text += fmt.Sprintf(" of %d", r.Cables)
	}
	mixed := slices.ContainsFunc(r.compared, func(y Comparison) bool { return len(y.Dead) > 0 })
	switch {
	case costs && len(x.Dead) == 1:
		return text + " costs "
	case costs:
		return text + " cost "
	case x.Sizes != "" && len(x.Dead) > 0:
		return fmt.Sprintf("with %s and sizes %s, ", text, x.Sizes)
	case x.Sizes != "":
		return fmt.Sprintf("with sizes %s, ", x.Sizes)
	case len(x.Dead) > 0:
		return "with " + text + ", "
	case !mixed:
		return ""
	case r.hosts():
		return "where no dead link was named, "
	}
	return "on the healthy network, "
}

// reaches is the figure of a case: over the control, or without one of the rate of the links.
func (r *reading) reaches(c Case) string {
	e := c.Estimate
	if e.Of == OfRatio {
		return fmt.Sprintf("%.0f %%%s of %s", 100*e.Median, plusMinus(e.Interval, 1, ""), r.reference())
	}
	if i, _ := valuesOf(r.counted(c), Slice.efficiency); c.PredictedEfficiency > 0 && i.N > 0 {
		return fmt.Sprintf("%.0f %%%s of %s", 100*i.Median, plusMinus(i, 1, ""), r.rate())
	}
	return fmt.Sprintf("%s%s per server", rateText(e.Median), plusMinus(e.Interval, e.Median, " %"))
}

// controlName is the name of a control that evbench added.
const controlName = "control"

// reference names the control.
func (r *reading) reference() string {
	if r.control == nil {
		return "the control"
	}
	return r.control.called()
}

// called is the name of a case in a sentence.
func (c Case) called() string {
	if c.Control && c.Name == controlName {
		return "the control"
	}
	return Quoted(c.Name)
}

// equals says which cases of a group differ from each other by less than the tolerance.
func equals(cases []Case, group []int) (sentences []string) {
	var sets [][]int
	for _, i := range group {
		fits := func(set []int) bool {
			return !slices.ContainsFunc(set, func(j int) bool { return !cases[i].equals(cases[j]) })
		}
		if at := slices.IndexFunc(sets, fits); at >= 0 {
			sets[at] = append(sets[at], i)
		} else {
			sets = append(sets, []int{i})
		}
	}
	for _, set := range sets {
		if len(set) > 1 {
			names := lists.Map(set, func(i int) string { return Quoted(cases[i].Name) })
			sentences = append(sentences, show.And(names)+" differ by less than "+ToleranceText())
		}
	}
	return sentences
}

// Quoted is the name of a case as it was typed.
func Quoted(name string) string { return "“" + show.Line(name) + "”" }

func number(n int, one, many string) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	word := fmt.Sprint(n)
	if n < len(words) {
		word = words[n]
	}
	if n == 1 {
		return word + " " + one
	}
	return word + " " + many
}

// plusMinus is the half-width in brackets, in per cent of whole. sign names that unit behind a
// figure in another unit.
func plusMinus(i Interval, whole float64, sign string) string {
	if !i.Known() || whole == 0 {
		return ""
	}
	return fmt.Sprintf(" (±%.0f%s)", max(1, math.Ceil(100*i.HalfWidth()/whole-0.5)), sign)
}

func plusMinusOf(i Interval) string {
	if !i.Known() {
		return ""
	}
	return fmt.Sprintf(" (±%.2f)", max(.01, i.HalfWidth()))
}

// least reports whether no plan has fewer phases, and the plan kept its promise.
func (c Case) least() bool {
	return c.planned() && c.Bound > 0 && c.Phases == c.Bound && c.Verdict == Resolved &&
		math.Abs(c.Estimate.Median-c.PredictedRatio) <= Tolerance
}

// best reports whether no shorter plan than that of the case is known.
func (c Case) best() bool {
	return c.Schedule == schedules.FORS || strings.HasPrefix(c.Schedule, schedules.Best) || c.Schedule == schedules.PathColoring
}

// GoodFrom is the share of what a plan can reach from which on the best case is good.
const GoodFrom = 0.95

// Possible holds the best case of each set of dead links, by its prediction, against the prediction of the best
// plan, whose phases are known where a case has a bound.
func Possible(cases []Case) (out []answer.Finding) {
	type shares struct {
		best Case
		most float64
	}
	of := map[string]shares{}
	for _, c := range cases {
		key := strings.Join(c.Failures, ",")
		x := of[key]
		if c.PredictedEfficiency > x.best.PredictedEfficiency {
			x.best = c
		}
		switch {
		case c.Control || c.Sizes != "" || c.changes() || c.PredictedEfficiency == 0:
			continue
		case c.best():
			x.most = max(x.most, c.PredictedEfficiency)
		case c.Bound > 0 && c.planned():
			x.most = max(x.most, c.PredictedEfficiency*float64(c.Phases)/float64(c.Bound))
		case c.Bound > 0 && c.Schedule == schedules.LinearShift:
			x.most = max(x.most, float64(c.Phases)/float64(c.Bound))
		}
		of[key] = x
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		switch x := of[key]; {
		case x.best.PredictedEfficiency >= GoodFrom*cmp.Or(x.most, 1):
		case x.most > 0:
			out = append(out, answer.Finding{Place: answer.Below, Text: fmt.Sprintf("%s can reach %.0f %% of the link rate, a plan (schedule: %s) %.0f %%",
				Quoted(x.best.Name), 100*x.best.PredictedEfficiency, schedules.Best, 100*x.most)})
		default:
			out = append(out, answer.Finding{
				Text:   fmt.Sprintf("%s can reach %.0f %% of the link rate", Quoted(x.best.Name), 100*x.best.PredictedEfficiency),
				Doubts: []answer.Doubt{{Text: "whether a plan reaches more is not known", Remedy: "add a case with schedule: " + schedules.Best}},
			})
		}
	}
	return out
}
