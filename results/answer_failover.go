package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/answer"
)

// An outage is the first dead link of a case: how long links were not used, and how much throughput
// was lost in the whole case, as the time that it would have taken before.
type outage struct {
	Case
	f          Failover
	lost, dead float64
}

// failovers states which case lost least, how much, and what it did.
func (a *Answer) failovers(cases []Case) {
	a.Question, a.Verdict = "How long does a dead link cost, and how much?", answer.Good
	var outages []outage
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
		} else {
			outages = append(outages, c.outage(f))
		}
		if f.Reason != "" && f.FirstNewSec == nil && !f.Superseded {
			a.Verdict, a.Why = answer.Bad, append(a.Why, c.Name+": "+f.Reason)
		}
		if text := f.cost(c); text != "" && f.disturbed(c) == "" {
			a.Why = append(a.Why, text)
		}
	}
	slices.SortStableFunc(outages, func(x, y outage) int { return cmp.Compare(x.lost, y.lost) })
	if len(outages) > 0 {
		sentences = []string{a.least(outages)}
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

func (c Case) outage(f Failover) outage {
	o := outage{Case: c, f: f}
	for i, x := range c.Failovers {
		until := c.MeasuredSec
		if i+1 < len(c.Failovers) {
			until = c.Failovers[i+1].begin()
		}
		if len(x.Dead) > 0 {
			o.dead += max(0, until-x.begin())
		}
	}
	if o.lost = math.Inf(1); f.BeforeEventsPerSec != nil && *f.BeforeEventsPerSec > 0 {
		o.lost = max(0, 1-c.EventsPerSec.Mean / *f.BeforeEventsPerSec) * c.MeasuredSec
	}
	return o
}

// halfKept is the share that a policy without a plan must keep, not to be bad.
const halfKept = 0.5

// least says what the case that lost least lost and did, and which lost most. The verdict is that of
// the case that lost least: good if it kept GoodFrom of what its plan can, and not known without a plan,
// unless it lost half.
func (a *Answer) least(outages []outage) string {
	best, worst := outages[0], outages[len(outages)-1]
	if math.IsInf(best.lost, 1) {
		if a.Verdict == answer.Good {
			a.Verdict = answer.Unknown
		}
		return fmt.Sprintf("What the death of %s cost is not known. %s: %s", strings.Join(best.f.Down, " and "), best.Name, best.f.did(best.Case))
	}
	text := best.Name
	if len(outages) > 1 {
		text += " lost least:"
	}
	text = fmt.Sprintf("%s %s of its throughput in %s without %s", text, span(best.lost), span(best.dead), strings.Join(best.f.Down, " and "))
	if len(outages) == 1 {
		text = strings.Replace(text, best.Name, best.Name+" lost", 1)
	} else if !math.IsInf(worst.lost, 1) {
		text += fmt.Sprintf("; %s most, %s", worst.Name, span(worst.lost))
	}
	text += ". " + upper(best.f.did(best.Case))
	kept, possible := 1-best.lost/best.dead, 1.0
	if best.f.Phases > 0 && best.Phases > 0 {
		possible = min(1, float64(best.Phases)/float64(best.f.Phases))
	}
	switch {
	case a.Verdict != answer.Good || best.dead == 0 || kept >= GoodFrom*possible:
	case best.f.Phases > 0:
		a.Verdict = answer.Bad
		text += fmt.Sprintf(" It kept %.0f %% without the link, and its plan can keep %.0f %% (good from %.0f %% of that): hold a link that flaps, or measure longer.", 100*max(0, kept), 100*possible, 100*GoodFrom)
	case kept < halfKept:
		a.Verdict = answer.Bad
		text += fmt.Sprintf(" It kept %.0f %% without the link (bad below %.0f %%): use policy fors.", 100*max(0, kept), 100*halfKept)
	default:
		a.Verdict = answer.Unknown
		text += fmt.Sprintf(" It kept %.0f %% without the link; whether a plan keeps more is not known: measure policy fors, too.", 100*kept)
	}
	return text
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

// did states the actions on dead links, with times since the links died.
func (f Failover) did(c Case) string {
	var done []string
	for _, x := range []struct {
		what string
		at   *float64
	}{{"tables repaired", f.AidedSec}, {"new plan at all servers", f.UpdatedSec}} {
		if x.at != nil {
			done = append(done, fmt.Sprintf("%s after %s", x.what, span(*x.at-f.begin())))
		}
	}
	if len(done) == 0 {
		done = []string{"nothing was done under policy " + c.Failover}
	}
	text := strings.Join(done, ", ")
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
