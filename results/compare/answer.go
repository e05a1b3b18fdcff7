package compare

import (
	"fmt"
	"math"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says whether any case has become worse in the figure that is shown first.
func (c *Comparison) Answer() answer.Answer {
	figure := c.tables()[0]
	a := answer.Answer{Question: fmt.Sprintf("Is %s worse than %s?", c.New.Path, c.Base.Path), Verdict: answer.Good}
	var worse, better, unsaid, said []string
	for _, x := range c.Cases {
		for _, f := range x.Figures {
			switch {
			case f.Name != figure || x.Control:
			case f.Unsaid != "":
				unsaid = append(unsaid, x.Name+": "+f.Unsaid)
			case !f.Significant || f.Change == nil:
				said = append(said, x.Name)
			case lossy(figure, *f.Change):
				worse = append(worse, fmt.Sprintf("%s %s", x.Name, percentText(*f.Change)))
			default:
				better = append(better, fmt.Sprintf("%s %s", x.Name, percentText(*f.Change)))
			}
		}
	}
	switch {
	case len(c.Regressions) > 0:
		r := c.Regressions[0]
		a.Verdict, a.Sentence = answer.Bad, fmt.Sprintf("%s is worse: %s %s, beyond %s.", r.Case, r.Figure, percentText(r.Change), r.Condition)
	case len(worse) > 0:
		a.Verdict, a.Sentence = answer.Bad, fmt.Sprintf("Worse in %s: %s.", figure, show.Few(worse))
	case len(c.Undecided) > 0:
		a.Verdict, a.Sentence = answer.Unknown, fmt.Sprintf("Not decided: %s.", strings.TrimSuffix(c.Undecided[0].String(), "."))
	case len(better)+len(said) == 0:
		a.Verdict, a.Sentence = answer.Unknown, "No case was measured well enough in both runs to compare its "+figure+"."
		a.Why = unsaid[:min(len(unsaid), 3)]
	case len(better) > 0:
		a.Sentence = fmt.Sprintf("No case is worse in %s; better: %s.", figure, show.Few(better))
	default:
		a.Sentence = fmt.Sprintf("%s in %s.", show.Plural(len(said), "case shows no significant change", "cases show no significant change"), figure)
	}
	if a.Verdict == answer.Bad {
		a.Next = []string{answer.Typed("evbench", "report", c.Base.Path, c.New.Path, "-o", "report.html")}
	}
	return a
}

// lossy reports whether a change of a figure is for the worse: of waiting more, else less.
func lossy(figure string, change float64) bool {
	return math.Signbit(change) != (figure == "barrier_wait_s")
}
