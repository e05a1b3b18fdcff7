package failures

import (
	"fmt"
	"time"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says how often links failed, each failure as logged, for how long, and which most often. A link that failed more
// often than allow is bad. What the log lacks can only add failures: it is a doubt where a link could have failed
// too often with them, or where nothing else is known.
func (r Report) Answer(allow int) answer.Answer {
	var all Series
	var most FailedLink
	links, often, known := 0, 0, 0
	for _, g := range r.Groups {
		links += g.Links
		all.Failures += g.Raw.Failures
		if g.Raw.Known > known {
			known, all.MedianS = g.Raw.Known, g.Raw.MedianS
		}
		for _, l := range g.Failed {
			if l.Failures > allow {
				often++
			}
			if l.Failures > most.Failures {
				most = l
			}
		}
	}
	count := answer.Finding{Text: fmt.Sprintf("%s of %s in %s", show.Plural(all.Failures, "failure", "failures"), show.Plural(links, "link", "links"), seconds(r.ObservedS)), Place: answer.At}
	switch {
	case all.Failures == 0:
		count.Text = fmt.Sprintf("no link failed in %s", seconds(r.ObservedS))
	case known == 0:
		count.Text += ", of unknown duration"
	default:
		count.Text += fmt.Sprintf("; half of them last at most %s", seconds(all.MedianS))
	}
	var e answer.Evidence
	if often > 0 {
		e.Findings = append(e.Findings, answer.Finding{Text: most.said(r.MergeS) + ": reseat or change its cable first", Place: answer.Below})
	} else if missing := r.Losses.missing(); missing > 0 && (all.Failures == 0 || most.Failures+missing > allow) {
		if count.Doubts = r.Losses.doubts(); all.Failures == 0 {
			count.Text = "" // whether one failed is what is not known
		}
	}
	e.Findings = append(e.Findings, count)
	if all.Failures > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%s failed more often than %s (--allow)", show.Plural(often, "link", "links"), times(allow)))
	}
	if !r.Mapped {
		e.Why = append(e.Why, "without a map of cables a cable that both ends report counts twice (--topology or --cables)")
	}
	return answer.Decide(answer.Failures, e)
}

// said says how often a link failed, and in how many periods of flapping.
func (l FailedLink) said(merge float64) string {
	text := fmt.Sprintf("%s failed %d times", l.Name, l.Failures)
	switch {
	case l.Merged == l.Failures:
		return text
	case l.Merged == 1:
		return text + " (one period of flapping)"
	}
	return fmt.Sprintf("%s (%d where those within %s count as one)", text, l.Merged, time.Duration(merge*float64(time.Second)))
}

// missing counts what may stand for one failure more.
func (l Losses) missing() int { return l.Unresolved + l.Cut + l.LostUps + l.LostDowns }

// doubts says what the log lacks, the most important first.
func (l Losses) doubts() []answer.Doubt {
	var all []answer.Doubt
	for _, d := range []struct {
		n      int
		one    string
		more   string
		remedy string
	}{
		{l.Changes, "a link changed state, the log does not say which", "links changed state at least %d times, the log does not say which", "run opensm with -D 0x47"},
		{l.Cut, "a line about a port is cut short", "%d lines about ports are cut short", "give the whole log"},
		{l.LostUps + l.LostDowns, "a line is lost and a failure lacks an end", "%d lines are lost and failures lack an end", "give the log of every subnet manager"},
	} {
		switch {
		case d.n == 1:
			all = append(all, answer.Doubt{Text: d.one, Remedy: d.remedy})
		case d.n > 1:
			all = append(all, answer.Doubt{Text: fmt.Sprintf(d.more, d.n), Remedy: d.remedy})
		}
	}
	return all
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
