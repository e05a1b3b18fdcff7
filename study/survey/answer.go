package survey

import (
	"fmt"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan"
)

// Answer says what the worst failure leaves of the throughput under the best case and under the worst one.
func (r *WhatIfReport) Answer() answer.Answer {
	a := answer.Answer{Question: fmt.Sprintf("What does the death of %s cost?", show.Plural(r.k, "link", "links")), Verdict: answer.Unknown}
	if len(r.Groups) == 0 || r.Groups[0].Done == 0 {
		a.Sentence = "No failure was planned."
		return a
	}
	g := &r.Groups[0]
	best, worst := g.extremes()
	if best == nil {
		a.Verdict, a.Sentence = answer.Bad, fmt.Sprintf("None of %s has a plan.", show.Plural(g.Done, "set", "sets"))
		if len(g.First) > 0 {
			a.Why = []string{"servers are unreachable without " + strings.Join(g.First, ",")}
		}
		return a
	}
	a.Sentence = fmt.Sprintf("Whichever %s %s, %s keeps at least %s of the link rate", r.killed(g), g.die(r.k), best.Case, percent(best.Efficiency.Min))
	if worst != best {
		a.Sentence += fmt.Sprintf(", %s %s", worst.Case, percent(worst.Efficiency.Min))
	}
	a.Sentence += "."
	a.Verdict, a.Why = r.judge(g, best)
	flags := append(append([]string{"evbench", "plan"}, plan.TreeFlags(r.tree)...), "--schedule", best.Schedule)
	if len(r.tree.Dead()) == 0 {
		flags = append(flags, "--down", strings.Join(best.Efficiency.Worst, ","))
	}
	a.Next = []string{answer.Typed(append(flags, "-o", "plan.txt")...)}
	return a
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

// killed says which sets the numbers are of: "1 of 16 links".
func (r *WhatIfReport) killed(g *GroupReport) string {
	if g.Chosen < int(g.Sets) {
		return fmt.Sprintf("of %d drawn sets of %s", g.Chosen, show.Plural(r.k, "link", "links"))
	}
	return fmt.Sprintf("%d of %d links", r.k, r.tree.AllLinks()-len(r.tree.Dead()))
}

func (g *GroupReport) die(k int) string {
	if k == 1 || g.Chosen < int(g.Sets) {
		return "dies"
	}
	return "die"
}

// extremes are the cases whose worst set keeps the most, of equal ones that with the better median, and the least.
func (g *GroupReport) extremes() (best, worst *CaseReport) {
	for i := range g.Cases {
		c := &g.Cases[i]
		if c.Planned == 0 {
			continue
		}
		if best == nil || c.Efficiency.Min > best.Efficiency.Min ||
			c.Efficiency.Min == best.Efficiency.Min && c.Efficiency.Median > best.Efficiency.Median {
			best = c
		}
		if worst == nil || c.Efficiency.Min < worst.Efficiency.Min {
			worst = c
		}
	}
	return best, worst
}

// judge is good where every set that leaves all servers reachable has a plan that none is shorter than.
func (r *WhatIfReport) judge(g *GroupReport, best *CaseReport) (answer.Verdict, []string) {
	switch {
	case r.Incomplete:
		return answer.Unknown, []string{fmt.Sprintf("stopped after %d of %d sets", g.Done, g.Chosen)}
	case g.Unreachable > 0:
		return answer.Bad, []string{fmt.Sprintf("%d of %d sets leave servers unreachable, first %s", g.Unreachable, g.Done, strings.Join(g.First, ","))}
	case best.Refused > 0:
		return answer.Bad, []string{fmt.Sprintf("%s of %s without a plan, first: %s", show.Plural(best.Refused, "set is", "sets are"), best.Case, best.Reason)}
	case best.AboveBound > 0:
		return answer.Unknown, []string{fmt.Sprintf("%s above the proven bound", show.Plural(best.AboveBound, "plan is", "plans are"))}
	case best.Efficiency.Min < best.Before.Efficiency:
		return answer.Good, []string{"no plan is shorter than those of " + best.Case.String()}
	}
	return answer.Good, nil
}
