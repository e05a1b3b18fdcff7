package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/internal/lists"
)

// An Answer is the result of a run in words.
type Answer struct {
	answer.Answer
	// Cases are the cases that the sentence compares, without the control.
	Cases []string `json:"cases"`
}

// mostSentences is the most sets of dead links and sizes, or cases, in an answer.
const mostSentences = 3

// NewAnswer makes the answer of a run from cases that have been assessed and judged, nil without
// any. cables is the number of cables between leaves and spines; 0: not known.
func NewAnswer(cases []Case, compared []Comparison, cables int) *Answer {
	if len(cases) == 0 {
		return nil
	}
	a := &Answer{Cases: []string{}}
	switch {
	case len(compared) > 0:
		a.compare(cases, compared, cables)
		a.Best(cases)
	case slices.ContainsFunc(cases, func(c Case) bool { return len(c.Failovers) > 0 }):
		a.failovers(cases)
	default:
		a.alone(cases)
	}
	a.Doubt(cases, compared)
	return a
}

// compare states the cost of each set of dead links. The verdict is bad if a synchronised case
// stays below its prediction, and unknown if no interval is narrow enough to order the cases.
func (a *Answer) compare(cases []Case, compared []Comparison, cables int) {
	a.Question, a.Verdict = "What do the dead links cost?", answer.Good
	var sentences, subjects []string
	for i, x := range compared {
		for _, j := range x.Cases {
			a.Cases = append(a.Cases, cases[j].Name)
			if text := cases[j].short(); text != "" {
				a.Verdict, a.Why = answer.Bad, append(a.Why, text)
			}
		}
		subjects = append(subjects, strings.TrimSuffix(subject(x.Dead, cables), ","))
		if i < mostSentences {
			sentences = append(append(sentences, sentence(cases, x, cables)), equals(cases, x.Cases)...)
		}
	}
	if more := len(compared) - mostSentences; more > 0 {
		what := " of dead cables"
		if slices.ContainsFunc(compared, func(x Comparison) bool { return x.Sizes != "" }) {
			what += " and sizes"
		}
		sentences = append(sentences, fmt.Sprintf("The table has %s%s more.", number(more, "set", "sets"), what))
	}
	open := Open(cases)
	if len(open) == len(a.Cases) && once(cases, open) {
		a.Verdict, a.Why, a.Sentence = answer.Unknown, []string{again}, strings.Join(sentences, " ")
		return
	}
	if len(open) > 0 {
		sentences = append(sentences, "Not resolved: "+strings.Join(open, ", ")+".")
	}
	if 2*len(open) > len(a.Cases) && a.Verdict != answer.Bad {
		a.Verdict, a.Why = answer.Unknown, append([]string{longer}, a.Why...)
	}
	if len(open) == len(a.Cases) {
		a.Verdict, a.Why = answer.Unknown, []string{longer}
		sentences = []string{fmt.Sprintf("The intervals are too wide to compare %s (%s).", strings.Join(open, ", "), subjects[0])}
		for _, x := range compared {
			sentences = append(sentences, equals(cases, x.Cases)...)
		}
	}
	a.Sentence = strings.Join(sentences, " ")
}

// GoodFrom is the share of what a plan can reach from which on the best case is good.
const GoodFrom = 0.95

// Best judges, for each set of dead links, the prediction of the best case by that of the best plan,
// whose phases are known where a case has a bound, and says what would do better.
func (a *Answer) Best(cases []Case) {
	type shares struct{ best, most float64 }
	of := map[string]shares{}
	for _, c := range cases {
		key := strings.Join(c.Failures, ",")
		x := of[key]
		switch x.best = max(x.best, c.PredictedEfficiency); {
		case c.Control || c.Sizes != "" || c.changes() || c.PredictedEfficiency == 0:
			continue
		case c.Bound > 0 && c.planned():
			x.most = max(x.most, c.PredictedEfficiency*float64(c.Phases)/float64(c.Bound))
		case c.Bound > 0 && c.Schedule == "linear-shift":
			x.most = max(x.most, float64(c.Phases)/float64(c.Bound))
		}
		of[key] = x
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		switch x := of[key]; {
		case a.Verdict != answer.Good || x.best >= GoodFrom*cmp.Or(x.most, 1):
		case x.most > 0:
			a.Verdict = answer.Bad
			a.Sentence += fmt.Sprintf(" A plan (schedule: fors) can reach %.0f %% of the link rate, the best of these cases %.0f %% (good from %.0f %% of that).", 100*x.most, 100*x.best, 100*GoodFrom)
		default:
			a.Verdict = answer.Unknown
			a.Sentence += fmt.Sprintf(" Whether a plan reaches more than %.0f %% of the link rate is not known: add a case with schedule: fors.", 100*x.best)
		}
	}
}

// Reasons for an unknown verdict, and remedies.
const (
	longer = "the noise is as large as the difference: measure longer (--limit, --duration), at a lower rate (--rate auto), or on a machine with less other work"
	again  = "one round has no interval, so the order of the cases may be noise: measure more (--rounds, --limit)"
	slower = "the machine disturbed the control: measure at a lower rate or in longer phases (auto for both), or on a machine with less other work"
)

// once reports whether the cases of these names were measured in one round, which has no interval.
func once(cases []Case, names []string) bool {
	return !slices.ContainsFunc(cases, func(c Case) bool {
		return slices.Contains(names, c.Name) && (c.Estimate == nil || c.Rounds != 1)
	})
}

// short says how far a synchronised case is below its prediction, "" where it is not. The
// prediction of an unsynchronised case is an upper bound.
func (c Case) short() string {
	e := c.Estimate
	if c.Mode != modes.Sync || c.PredictedRatio == 0 || c.Verdict != Resolved || e.Of != OfRatio || e.Median+e.HalfWidth() >= c.PredictedRatio-Tolerance*max(1, c.PredictedRatio) {
		return ""
	}
	return fmt.Sprintf("%s reaches %.3f of the control, %.3f was predicted", c.Name, e.Median, c.PredictedRatio)
}

// Doubt removes the figures from an answer that needs a wrong case: lost or duplicate events make
// the verdict bad, and a wrong control or links off their plan make it unknown.
func (a *Answer) Doubt(cases []Case, compared []Comparison) {
	needed := groupsOf(len(cases), compared)
	for i, c := range cases {
		if c.Valid || len(c.Reasons) == 0 || len(compared) > 0 && !c.Control && needed[i] == nil {
			continue
		}
		a.Verdict, a.Why = answer.Unknown, c.Reasons[1:]
		if c.EventsLost+c.EventsDuplicate > 0 {
			a.Verdict = answer.Bad
		}
		a.Sentence = fmt.Sprintf("%s is wrong: %s.", c.Name, strings.TrimSuffix(c.Reasons[0], "."))
		if c.Control {
			a.Why = append(slices.Clone(a.Why), slower)
		}
		return
	}
}

// alone describes cases without a comparison: their links change on the way, or they have rates.
func (a *Answer) alone(cases []Case) {
	a.Question, a.Verdict = "How fast are events built?", answer.Good
	var sentences, open []string
	for _, c := range cases {
		if c.Control || c.Estimate == nil {
			continue
		}
		a.Cases = append(a.Cases, c.Name)
		if c.changes() {
			a.Question = "What does a link cost that dies during the run?"
		}
		text := ""
		switch e := c.Estimate; {
		case e.Of != OfRatio:
			text = fmt.Sprintf("%s reaches %s per server%s", c.Name, rateText(e.Median), plusMinus(e, e.Median, " %"))
		default:
			text = fmt.Sprintf("%s reaches %.0f %%%s of the control", c.Name, 100*e.Median, plusMinus(e, 1, ""))
			if c.PredictedRatio > 0 {
				text += fmt.Sprintf(", %.0f %% was predicted", 100*c.PredictedRatio)
			}
		}
		if !c.Estimate.Known() {
			open = append(open, c.Name)
		}
		if len(sentences) < mostSentences {
			sentences = append(sentences, text+".")
		}
	}
	switch a.Sentence = strings.Join(sentences, " "); {
	case len(a.Cases) == 0:
		a.Verdict, a.Why, a.Sentence = answer.Unknown, []string{longer}, "No case was measured."
	case len(open) == len(a.Cases) && once(cases, open):
		a.Verdict, a.Why = answer.Unknown, []string{again}
	case len(open) == len(a.Cases):
		a.Verdict, a.Why, a.Sentence = answer.Unknown, []string{longer}, "No case was measured often enough for an interval."
	}
}

// sentence compares the cases of one set of dead links with the control: the cost of the links or,
// where other things cost too, or nothing is lost, the throughput reached.
func sentence(cases []Case, x Comparison, cables int) string {
	var clauses []string
	reach := x.Sizes != "" || slices.ContainsFunc(x.Cases, func(j int) bool { return cases[j].gains() || cases[j].absolute() })
	first := true // with a figure
	for _, j := range x.Cases {
		clauses = append(clauses, clause(cases, x.Cases, j, first, reach))
		first = first && cases[j].Estimate == nil
	}
	text := subject(x.Dead, cables)
	switch {
	case x.Sizes != "" && strings.HasSuffix(text, ","):
		text = fmt.Sprintf("%s with sizes %s,", strings.TrimSuffix(text, ","), x.Sizes)
	case x.Sizes != "":
		text = fmt.Sprintf("with %s and sizes %s,", text, x.Sizes)
	case reach && !strings.HasSuffix(text, ","):
		text = "with " + text + ","
	}
	return upper(text + " " + strings.Join(clauses, "; ") + ".")
}

// equals says which cases of a group that a sentence names differ from each other by less than the
// tolerance.
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
		names := lists.Of(set, func(i int) string { return cases[i].describe(cases, group) })
		if last := len(names) - 1; last > 0 {
			text := strings.Join(names[:last], ", ") + " and " + names[last] + " differ by less than " + ToleranceText() + "."
			sentences = append(sentences, upper(text))
		}
	}
	return sentences
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (c Case) gains() bool {
	return c.Estimate != nil && c.Estimate.Of == OfRatio && math.Round(100*c.Estimate.Median) > 100
}

// absolute reports whether the figure of a case is not a ratio: the run has no control.
func (c Case) absolute() bool { return c.Estimate != nil && c.Estimate.Of != OfRatio }

// subject is the subject of a sentence: "one dead cable of 16", "the healthy network".
func subject(dead []string, cables int) string {
	links := slices.DeleteFunc(slices.Clone(dead), func(f string) bool { return strings.Contains(f, " at ") })
	switch {
	case len(dead) == 0:
		return "on the healthy network,"
	case len(links) < len(dead):
		return "with " + strings.Join(dead, " and ") + ","
	}
	text := number(len(dead), "dead cable", "dead cables")
	if cables > 0 {
		text += fmt.Sprintf(" of %d", cables)
	}
	return text
}

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

// clause states what one case costs or reaches. The first clause of a sentence has the verb.
func clause(cases []Case, group []int, at int, first, reach bool) string {
	c := cases[at]
	what := c.describe(cases, group)
	e := c.Estimate
	switch {
	case e == nil:
		return what + " was not measured"
	case e.Of != OfRatio:
		return fmt.Sprintf("%s reaches %s per server%s", what, rateText(e.Median), plusMinus(e, e.Median, " %"))
	case reach || len(c.Failures) == 0 || c.changes():
		if !first {
			return fmt.Sprintf("%s, %.0f %%%s", what, 100*e.Median, plusMinus(e, 1, ""))
		}
		return fmt.Sprintf("%s reaches %.0f %%%s of the control", what, 100*e.Median, plusMinus(e, 1, ""))
	}
	cost := fmt.Sprintf("%.0f %%%s", max(0, 100*(1-e.Median)), plusMinus(e, 1, ""))
	switch {
	case first && (c.planned() || c.Mode == modes.Ordered):
		cost = fmt.Sprintf("cost, %s, %s of the throughput", what, cost)
		if len(c.Failures) == 1 {
			cost = strings.Replace(cost, "cost,", "costs,", 1)
		}
	case first && len(c.Failures) == 1:
		cost = fmt.Sprintf("costs %s %s of the throughput", what, cost)
	case first:
		cost = fmt.Sprintf("cost %s %s of the throughput", what, cost)
	default:
		cost = what + ", " + cost
	}
	if c.least() {
		cost += ", the least possible"
	}
	return cost
}

// plusMinus is the half-width in brackets, in per cent of whole. sign names that unit behind a
// figure in another unit.
func plusMinus(e *Estimate, whole float64, sign string) string {
	if !e.Known() || whole == 0 {
		return " (no interval)"
	}
	return fmt.Sprintf(" (±%.0f%s)", max(1, math.Ceil(100*e.HalfWidth()/whole-0.5)), sign)
}

// least reports whether no plan has fewer phases, and the plan kept its promise.
func (c Case) least() bool {
	return c.planned() && c.Bound > 0 && c.Phases == c.Bound && c.Verdict == Resolved &&
		math.Abs(c.Estimate.Median-c.PredictedRatio) <= Tolerance
}

// describe names a case by its properties, and also by its own name where another one of the group
// has the same properties.
func (c Case) describe(cases []Case, group []int) string {
	text := c.words()
	for _, j := range group {
		if cases[j].Name != c.Name && cases[j].words() == text {
			return text + " (" + c.Name + ")"
		}
	}
	return text
}

// shifts puts names of schedules into words.
var shifts = strings.NewReplacer("linear-shift-ports", "linear shift by port", "linear-shift", "linear shift")

func (c Case) words() string {
	over := strings.Replace(c.Routing, "minhop", "min-hop", 1)
	switch {
	case c.Mode == modes.FreeRunning:
		return "free-running over " + over
	case c.Mode == modes.Ordered && c.Schedule == "fors":
		return "ordered by FORS with tokens"
	case c.Mode == modes.Ordered:
		return "ordered with tokens"
	case c.Mode != modes.Sync:
		return "unsynchronised over " + over
	case c.planned() && strings.HasPrefix(c.Schedule, "repair:"):
		return shifts.Replace(strings.TrimPrefix(c.Schedule, "repair:")) + " repaired around it"
	case c.planned() && len(c.Failures) > 0:
		return "planned around " + map[bool]string{true: "it", false: "them"}[len(c.Failures) == 1]
	}
	return shifts.Replace(c.Schedule) + " over " + over
}
