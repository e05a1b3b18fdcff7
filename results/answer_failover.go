package results

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/answer"
)

// failovers says of each case how long its first dead link took to be repaired and planned around, and what that cost.
func (a *Answer) failovers(cases []Case) {
	a.Question, a.Verdict = "How long does a dead link cost, and how much?", answer.Good
	var sentences []string
	for _, c := range cases {
		at := slices.IndexFunc(c.Failovers, func(f Failover) bool { return len(f.Down) > 0 })
		if c.Control || at < 0 {
			continue
		}
		f := c.Failovers[at]
		a.Cases = append(a.Cases, c.Name)
		if len(a.Cases) <= mostSentences {
			sentences = append(sentences, f.sentence(c))
		}
		if f.Reason != "" && f.FirstNewSec == nil && !f.Superseded {
			a.Verdict, a.Why = answer.Bad, append(a.Why, c.Name+": "+f.Reason)
		}
		if text := f.cost(c); text != "" {
			a.Why = append(a.Why, text)
		}
	}
	a.Sentence = strings.Join(sentences, " ")
	if more := len(a.Cases) - mostSentences; more > 0 {
		a.Sentence += fmt.Sprintf(" The table has %s more.", number(more, "case", "cases"))
	}
	if len(a.Cases) == 0 {
		a.Verdict, a.Sentence = answer.Unknown, "No link died while events were built."
	}
}

// sentence says what was done about dead links and when, from the moment at which they died.
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

// begin is when the links died, or else when that was seen.
func (f Failover) begin() float64 {
	for _, at := range []*float64{f.SetSec, f.SeenSec} {
		if at != nil {
			return *at
		}
	}
	return 0
}

// cost is what a server did not build until the new plan was in use.
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
