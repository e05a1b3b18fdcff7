package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/results/culprit"
)

// absolute is the figure for what ratios to the control hide, as what slows all cases alike.
const (
	absolute     = "events_per_s"
	barrierWaits = "barrier_wait_s" // more is worse
)

// change is that of a figure in per cent, with an interval: between the farthest ends of those of both runs.
func (f Figure) change() answer.Figure {
	if f.Change == nil || !f.Base.Known() || !f.New.Known() || *f.Base.Lo <= 0 {
		return answer.Figure{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	}
	per := func(x, of float64) float64 { return 100 * (x/of - 1) }
	return answer.Figure{Value: *f.Change, Lo: per(*f.New.Lo, *f.Base.Hi), Hi: per(*f.New.Hi, *f.Base.Lo)}
}

// limit is what the interval of a change must keep to. None keeps to "no change at all": there it is the tolerance.
func (c Condition) limit() answer.Limit {
	l := answer.Limit{Value: c.Limit, Upper: c.Above}
	if c.Limit == 0 {
		l.Tolerance = 100 * results.Tolerance
	}
	return l
}

// place is where a change lies beside a condition: below, where it is significant and beyond; at, where its whole
// interval is not.
func (c Condition) place(f Figure) answer.Place {
	switch {
	case f.Significant && f.Change != nil && c.holds(*f.Change):
		return answer.Below
	case f.Observed == Exact && f.Unsaid == "", f.Significant && f.Change != nil && (*f.Change < 0) == c.Above,
		f.change().Beside(c.limit()) == answer.At:
		return answer.At
	}
	return answer.Across
}

// unshown says why the data do not decide a condition.
func (c Condition) unshown(f Figure) string {
	x, shown := f.change(), math.Abs(c.Limit)+c.limit().Tolerance
	if math.IsNaN(x.Lo) {
		return fmt.Sprintf("this comparison cannot show %g %%: too few observations for an interval; 6 rounds give one", shown)
	}
	return fmt.Sprintf("this comparison cannot show %g %%: the change is within %+.1f and %+.1f %%; %s", shown, x.Lo, x.Hi, answer.Needs(x, c.limit(), min(f.Base.N, f.New.N)))
}

// worse is the condition without a gate: a ratio, and what is exact, may not fall at all, what the machine changes
// from run to run not by more than the tolerance.
func (f Figure) worse() bool {
	if !f.changed() || !lossy(f.Name, *f.Change) {
		return false
	}
	return f.Name == Ratio || f.Observed == Exact || math.Abs(*f.Change) > 100*results.Tolerance
}

// changed reports whether a figure has changed by as much as two digits show.
func (f Figure) changed() bool {
	return f.Significant && f.Change != nil && math.Abs(*f.Change) >= 0.005
}

// tolerated is the change that a comparison without a gate must be able to show.
func tolerated(figure string) Condition {
	if figure == barrierWaits {
		return Condition{figure, true, 100 * results.Tolerance}
	}
	return Condition{figure, false, -100 * results.Tolerance}
}

// Places are where figures lie beside the conditions: worse, or not decided.
func (c *Comparison) Places() []answer.Place {
	return slices.Concat(slices.Repeat([]answer.Place{answer.Below}, len(c.Regressions)), slices.Repeat([]answer.Place{answer.Across}, len(c.Undecided)))
}

// Answer says whether any case has become worse: in the ratio to the control, which a busy machine does not
// change, and in the events per second, since a control that slows alike hides every loss that all cases share.
func (c *Comparison) Answer() answer.Answer {
	e := answer.Evidence{}
	for _, r := range c.Regressions {
		e.Findings = append(e.Findings, answer.Finding{Place: answer.Below, Text: fmt.Sprintf("%s of %s %s, beyond %s", r.Figure, results.Quoted(r.Case), moved(r.Change), r.Condition)})
	}
	for _, u := range c.Undecided {
		e.Findings = append(e.Findings, answer.Finding{Doubts: []answer.Doubt{{Text: u.clause()}}})
	}
	figures := c.shown[:min(1, len(c.shown))]
	switch {
	case len(figures) > 0:
	case c.says(Ratio):
		figures = []string{Ratio, absolute}
	default:
		figures = []string{absolute}
	}
	for i, name := range figures {
		if f, ok := c.finding(name, i > 0); ok {
			e.Findings = append(e.Findings, f)
		}
	}
	for _, x := range c.New.run.Summary.Cases {
		if x.Control && x.PredictedEfficiency > 0 && x.MeasuredEfficiency < (1-results.Tolerance)*x.PredictedEfficiency {
			e.Why = append(e.Why, fmt.Sprintf("the control of %s reaches %.0f %% of its prediction", c.New.Path, 100*x.MeasuredEfficiency/x.PredictedEfficiency))
		}
	}
	a := answer.Decide(answer.Worse.About(c.New.Path, c.Base.Path), e)
	if a.Verdict == answer.Bad {
		a.Next = []string{answer.Typed("evbench", "report", c.Base.Path, c.New.Path, "-o", "report.html")}
	}
	return a
}

// finding states what one figure shows. beside: of absolute figures beside ratios only a loss is told.
func (c *Comparison) finding(name string, beside bool) (f answer.Finding, ok bool) {
	var worse, better, same, open, unsaid []string
	var widest string
	most := 0.0
	for _, x := range c.Cases {
		for _, g := range x.Figures {
			switch called := results.Quoted(x.Name); {
			case g.Name != name || x.Control:
			case g.Unsaid != "":
				unsaid = append(unsaid, called+": "+g.Unsaid)
			case g.worse():
				worse, most = append(worse, called+" "+signed(*g.Change)), max(most, math.Abs(*g.Change)/100)
			case g.changed() && !lossy(name, *g.Change):
				better = append(better, called+" "+signed(*g.Change))
			case tolerated(name).place(g) == answer.Across:
				open = append(open, called)
				widest = tolerated(name).unshown(g)
			default:
				same = append(same, called)
			}
		}
	}
	switch {
	case len(worse) > 0:
		f = answer.Finding{Place: answer.Below, Text: fmt.Sprintf("%s %s: %s", name, map[bool]string{true: "rose", false: "fell"}[name == barrierWaits], few(worse))}
		if f.Cause = c.slower(); name == absolute && f.Cause == "" {
			c.alike(&f, beside, most)
		}
	case beside:
		return f, false
	case len(better)+len(same)+len(open) == 0 && len(unsaid) > 0:
		f = answer.Finding{Place: answer.Across, Text: unsaid[0]}
	case len(better)+len(same)+len(open) == 0:
		f = answer.Finding{Place: answer.Across, Text: "no case was measured well enough in both runs to compare its " + name}
	case len(open) > len(better)+len(same):
		f = answer.Finding{Place: answer.Across, Text: fmt.Sprintf("%s of %s: %s", name, few(open), widest)}
	case len(better) > 0:
		f = answer.Finding{Place: answer.At, Text: fmt.Sprintf("no case is worse in %s; better are %s", name, few(better))}
	default:
		f = answer.Finding{Place: answer.At, Text: fmt.Sprintf("no change for the worse in %s: %s", name, few(same))}
	}
	return f, true
}

// slower says who is slower in the new run than in the base, beside all others; "" for nobody.
func (c *Comparison) slower() string {
	for _, x := range c.Cases {
		for _, s := range culprit.Against(c.Base.run, c.New.run, x.Name, c.engines) {
			if s.Share == 0 {
				continue
			}
			// Every phase waits for a slow server, and links that have waited carry the next bytes faster: pairs say too much.
			if g, ok := x.figure(absolute); ok && g.Change != nil && s.Kind == attribution.OfServer {
				s.Share = max(s.Share, 1+*g.Change/100)
			}
			return fmt.Sprintf("%s carries %.0f %% of its rate in %s, beside all others", s.Name, 100*s.Share, c.Base.Path)
		}
	}
	return ""
}

// alike says whether the control lost with the cases, and doubts a loss that the machine may have caused.
func (c *Comparison) alike(f *answer.Finding, beside bool, loss float64) {
	if sign := results.Disturbed(c.New.run.Summary, loss); sign != "" {
		f.Doubts = []answer.Doubt{{Text: "in the new run " + sign, Remedy: "measure again with less other work"}}
		return
	}
	for _, x := range c.Cases {
		if g, ok := x.figure(absolute); x.Control && ok && g.worse() && beside {
			f.Text += fmt.Sprintf(", the control %s: what slows all alike, no ratio shows", signed(*g.Change))
		}
	}
}

func (c Case) figure(name string) (Figure, bool) {
	i := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Name == name && f.Unsaid == "" })
	if i < 0 {
		return Figure{}, false
	}
	return c.Figures[i], true
}

// few names two of some cases, and how many there are.
func few(names []string) string {
	if len(names) <= 2 {
		return show.And(names)
	}
	return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
}

// signed writes a change with its sign, and moved as what happened.
func signed(x float64) string { return fmt.Sprintf("%+.2f %%", x) }

func moved(x float64) string {
	if x < 0 {
		return fmt.Sprintf("fell by %.2f %%", -x)
	}
	return fmt.Sprintf("rose by %.2f %%", x)
}

// clause is an open question in a sentence.
func (u Undecided) clause() string {
	about := lists.Filter([]string{results.Quoted(u.Case), u.Figure}, func(s string) bool { return s != "" && s != results.Quoted("") })
	return strings.Join(append([]string{strings.Join(about, ", ")}, u.Reason), ": ")
}
