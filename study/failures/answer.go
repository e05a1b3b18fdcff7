package failures

import (
	"fmt"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says how often links failed, for how long, and which most often. A link that failed more
// often than allow is bad.
func (r Report) Answer(allow int) answer.Answer {
	a := answer.Answer{Question: "How often do links fail, and for how long?", Verdict: answer.Good}
	merged, links, often, known, most := 0, 0, 0, Series{}, FailedLink{}
	for _, g := range r.Groups {
		merged, links = merged+g.Merged.Failures, links+g.Links
		if g.Merged.Known > known.Known {
			known = g.Merged
		}
		for _, l := range g.Failed {
			if l.Merged > allow {
				often++
			}
			if l.Merged > most.Merged {
				most = l
			}
		}
	}
	a.Sentence = fmt.Sprintf("%s of %s in %s", show.Plural(merged, "failure", "failures"), show.Plural(links, "link", "links"), seconds(r.ObservedS))
	switch {
	case merged == 0:
		a.Sentence = fmt.Sprintf("No link failed in %s", seconds(r.ObservedS))
	case known.Known == 0:
		a.Sentence += ", of unknown duration"
	default:
		a.Sentence += fmt.Sprintf("; half of them last less than %s", seconds(known.MedianS))
	}
	if often > 0 {
		a.Verdict = answer.Bad
		a.Sentence += fmt.Sprintf("; %s failed %d times: reseat or change its cable first", most.Name, most.Merged)
	}
	if a.Sentence += "."; merged > 0 {
		a.Why = append(a.Why, fmt.Sprintf("%s failed more often than %s (--allow)", show.Plural(often, "link", "links"), times(allow)))
	}
	if !r.Mapped {
		a.Why = append(a.Why, "without a map of cables a cable that both ends report counts twice (--topology or --cables)")
	}
	return a
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
