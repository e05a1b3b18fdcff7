package failures

import (
	"fmt"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says how often links failed and for how long.
func (r Report) Answer() answer.Answer {
	a := answer.Answer{Question: "How often do links fail, and for how long?", Verdict: answer.Good}
	merged, links, known := 0, 0, Series{}
	for _, g := range r.Groups {
		merged, links = merged+g.Merged.Failures, links+g.Links
		if g.Merged.Known > known.Known {
			known = g.Merged
		}
	}
	switch {
	case merged == 0:
		a.Sentence = fmt.Sprintf("No link failed in %s.", seconds(r.ObservedS))
	case known.Known == 0:
		a.Verdict = answer.Unknown
		a.Sentence = fmt.Sprintf("%s of %s in %s, of unknown duration.", show.Plural(merged, "failure", "failures"), show.Plural(links, "link", "links"), seconds(r.ObservedS))
	default:
		a.Sentence = fmt.Sprintf("%s of %s in %s; half of them last less than %s.", show.Plural(merged, "failure", "failures"),
			show.Plural(links, "link", "links"), seconds(r.ObservedS), seconds(known.MedianS))
	}
	if !r.Mapped {
		a.Why = []string{"without a map of cables a cable that both ends report counts twice (--topology or --cables)"}
	}
	return a
}
