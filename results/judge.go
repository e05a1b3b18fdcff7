package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// When a measurement is not to be believed.
const (
	minControl = 0.95 // of its own prediction: below, the control is odd
	badControl = 0.90 // of that: below, it is wrong
	maxOffPlan = 0.05 // of the bytes planned for a link
	maxBusy    = 0.90 // of all cores: beyond, that is odd

	// slack is what a link may carry beside the plan, as a share of the busiest
	// one: acknowledgements and the barrier.
	slack = 0.01
	// segment is what a retransmission carries at most, and mostAgain the share of the
	// busiest link that all of them may come to: more would hide a wrong path.
	segment, mostAgain = 9000, 0.15
	// overOne is how far above 1 an efficiency is still noise.
	overOne = 1.02
	// namedLinks is how many links off their plan are named.
	namedLinks = 3
)

// Evidence is what a case is judged by beside its own figures.
type Evidence struct {
	Duplicate, Corrupt uint64      // fragments that came twice, or not as they were sent
	Links              []LinkCount // those Planned are held against their plan
	Slices             []float64   // of the control: the efficiency of each slice that counts; without any, that of the case tells
	ControlOff         bool        // the run has none
}

// A verdict is built up rule by rule.
type verdict struct{ reasons, warnings []string }

func (v *verdict) wrong(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (v *verdict) odd(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// Judge says whether anything about a case is wrong, what, and what else is odd about it: it fills in
// Valid, Reasons and Warnings. Noise makes no measurement wrong: how much of it there was is said by the
// interval of the case (see Estimate). Of what was worked out there is no machine to doubt and no control.
func (c *Case) Judge(e Evidence) {
	v := verdict{[]string{}, append([]string{}, c.Warnings...)}
	if !c.Complete {
		v.wrong("not complete: the case ended before its time")
	}
	some(c.EventsLost, v.wrong, "%d events lost")
	some(c.EventsDuplicate+e.Duplicate, v.wrong, "%d events or fragments came twice")
	some(e.Corrupt, v.wrong, "%d fragments corrupt")
	some(c.FragmentsLate, v.odd, "%d fragments late")
	if c.Simulated == "" {
		v.machine(c)
		v.links(e.Links, c.Retransmits)
		v.control(c, e)
	}
	c.Valid, c.Reasons, c.Warnings = len(v.reasons) == 0, v.reasons, v.warnings
}

func some(n uint64, say func(string, ...any), format string) {
	if n > 0 {
		say(format, n)
	}
}

func (v *verdict) machine(c *Case) {
	some(c.Drops, v.wrong, "%d packets dropped more than 1 s away from any timed failure")
	if c.CPUBusy > maxBusy {
		v.odd("processors busy more than %.0f %% of the time, by this run or by others", 100*maxBusy)
	}
	if c.MeasuredEfficiency > overOne {
		v.odd("efficiency %.3f is above 1: bursts that the links let pass unshaped count for too much; take larger fragments", c.MeasuredEfficiency)
	}
}

// links holds every link against its plan and names the worst. Who sends a segment again
// puts it onto its links again.
func (v *verdict) links(links []LinkCount, retransmits uint64) {
	most := 0.0
	for _, l := range links {
		if l.Planned {
			most = max(most, float64(l.PlannedBytes))
		}
	}
	again := min(segment*float64(retransmits), mostAgain*most)
	var off []LinkCount
	for _, l := range links {
		if l.Planned && offPlan(l) > max(maxOffPlan*float64(l.PlannedBytes), slack*most)+again {
			off = append(off, l)
		}
	}
	slices.SortStableFunc(off, func(a, b LinkCount) int { return cmp.Compare(offPlan(b), offPlan(a)) })
	for i, l := range off {
		if i == namedLinks {
			v.wrong("%d more links off their plan", len(off)-i)
			break
		}
		v.wrong("link %s %s carried %s, the plan puts %s there%s", l.Link, l.Direction,
			megabytes(l.Bytes), megabytes(l.PlannedBytes), percent(l))
	}
}

func offPlan(l LinkCount) float64 { return math.Abs(float64(l.Bytes) - float64(l.PlannedBytes)) }

func megabytes(n uint64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }

func percent(l LinkCount) string {
	if l.PlannedBytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*(float64(l.Bytes)/float64(l.PlannedBytes)-1))
}

// control looks at what the others are compared with. A busy machine slows some of its slices
// down: it is wrong where even the upper end of its interval is too low.
func (v *verdict) control(c *Case, e Evidence) {
	if e.ControlOff {
		v.odd("no control: the scenario says control: off")
	}
	if !c.Control || c.PredictedEfficiency <= 0 {
		return
	}
	i := NewInterval(e.Slices)
	if i.N == 0 {
		i.Median = c.MeasuredEfficiency
	}
	got := i.Median / c.PredictedEfficiency
	most := got
	if i.Known() {
		most = *i.Hi / c.PredictedEfficiency
	}
	switch {
	case most < badControl:
		v.wrong("the control reached %.3f of its prediction, less than %.2f: links, phases or the machine are not what the prediction takes them for", got, badControl)
	case got < minControl:
		v.odd("the control reached %.3f of its prediction, less than %.2f: the machine slows all cases down, and those with short phases most: no ratio is resolved", got, minControl)
	}
}
