package results

import (
	"fmt"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/answer"
)

// failovers states each case's time to repair and plan after its first dead link, and the cost.
func (a *Answer) failovers(cases []Case) {
	a.Question, a.Verdict = "How long does a dead link cost, and how much?", answer.Good
	var sentences, disturbed []string
	for _, c := range cases {
		at := slices.IndexFunc(c.Failovers, func(f Failover) bool { return len(f.Down) > 0 })
		if c.Control || at < 0 {
			continue
		}
		f := c.Failovers[at]
		a.Cases = append(a.Cases, c.Name)
		if text := f.disturbed(c); text != "" {
			disturbed = append(disturbed, text)
		} else if len(sentences) < mostSentences {
			sentences = append(sentences, f.sentence(c))
		}
		if f.Reason != "" && f.FirstNewSec == nil && !f.Superseded {
			a.Verdict, a.Why = answer.Bad, append(a.Why, c.Name+": "+f.Reason)
		}
		if text := f.cost(c); text != "" && f.disturbed(c) == "" {
			a.Why = append(a.Why, text)
		}
	}
	if more := len(a.Cases) - len(disturbed) - mostSentences; more > 0 {
		sentences = append(sentences, fmt.Sprintf("The table has %s more.", number(more, "case", "cases")))
	}
	switch {
	case len(a.Cases) == 0:
		a.Verdict, sentences = answer.Unknown, []string{"No link died while events were built."}
	case len(disturbed) > 0:
		what := "The machine disturbed " + number(len(disturbed), "case", "cases") + "."
		if len(disturbed) == len(a.Cases) {
			what = "The machine disturbed every case."
		}
		sentences, a.Why = append(sentences, what), append(append(a.Why, disturbed...), slower)
		if a.Verdict == answer.Good && len(disturbed) == len(a.Cases) {
			a.Verdict = answer.Unknown
		}
	}
	a.Sentence = strings.Join(sentences, " ")
}

// disturbed says how far a case is below the control, "" where its times and throughput count.
// Before the link died the network was as healthy as for the control. A synchronised case has a
// prediction for the whole time.
func (f Failover) disturbed(c Case) string {
	healthy := !slices.ContainsFunc(c.Failures, func(failure string) bool { return !strings.Contains(failure, " at ") })
	if before := f.BeforeEventsPerSec; healthy && before != nil && c.EventsPerSec.Mean > 0 && c.RatioToControl > 0 {
		if ratio := *before / c.EventsPerSec.Mean * c.RatioToControl; ratio < badControl {
			return fmt.Sprintf("%s reached %.0f %% of the control before %s died", c.Name, 100*ratio, strings.Join(f.Down, " and "))
		}
	}
	if c.Mode == modes.Sync && c.RatioToControl > 0 && c.RatioToControl < badControl*c.PredictedRatio {
		return fmt.Sprintf("%s reached %.0f %% of the control, %.0f %% was predicted", c.Name, 100*c.RatioToControl, 100*c.PredictedRatio)
	}
	return ""
}

// sentence states the actions on dead links, with times since the links died.
func (f Failover) sentence(c Case) string {
	text := fmt.Sprintf("%s: %s died", c.Name, strings.Join(f.Down, " and "))
	var done []string
	for _, x := range []struct {
		what string
		at   *float64
	}{{"repaired tables", f.AidedSec}, {"the new plan at all servers", f.UpdatedSec}} {
		if x.at != nil {
			done = append(done, fmt.Sprintf("%s after %s", x.what, span(*x.at-f.begin())))
		}
	}
	if len(done) == 0 {
		done = []string{"nothing was done under policy " + c.Failover}
	}
	text += "; " + strings.Join(done, ", ")
	if before := f.BeforeEventsPerSec; before != nil && *before > 0 {
		if f.DuringEventsPerSec != nil {
			text += fmt.Sprintf("; %.0f %% of the throughput until then", 100**f.DuringEventsPerSec / *before)
		}
		if f.AfterEventsPerSec != nil {
			text += fmt.Sprintf(", %.0f %% after it", 100**f.AfterEventsPerSec / *before)
		}
	}
	return text + "."
}

// begin is when the links died or, if not known, when that was seen.
func (f Failover) begin() float64 {
	for _, at := range []*float64{f.SetSec, f.SeenSec} {
		if at != nil {
			return *at
		}
	}
	return 0
}

// cost is what each server failed to build before the new plan was in use.
func (f Failover) cost(c Case) string {
	if f.BeforeEventsPerSec == nil || f.DuringEventsPerSec == nil || f.FirstNewSec == nil || c.EventsPerSec.Mean == 0 {
		return ""
	}
	events := (*f.BeforeEventsPerSec - *f.DuringEventsPerSec) * (*f.FirstNewSec - f.begin())
	bits := max(0, events) * c.GoodputBitPerSec.Mean / c.EventsPerSec.Mean
	return fmt.Sprintf("%s: each server built %.3g events (%s) less until the first exchange on the new plan had ended, %s; %d events lost",
		c.Name, max(0, events), bitsText(bits), span(*f.FirstNewSec-f.begin()), c.EventsLost)
}

func bitsText(bits float64) string {
	if bits < 1e9 {
		return fmt.Sprintf("%.3g Mbit", bits/1e6)
	}
	return fmt.Sprintf("%.3g Gbit", bits/1e9)
}

// span writes seconds.
func span(sec float64) string {
	if sec < 1 {
		return fmt.Sprintf("%.3g ms", 1e3*sec)
	}
	return fmt.Sprintf("%.3g s", sec)
}
