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

// Evidence is what a case is judged by.
type Evidence struct {
	Complete  bool
	Simulated bool // worked out, not measured: there is no machine to doubt, no control, and one exchange tells all
	RateKnown bool // the rate of the links is stated; else there is no efficiency to judge

	Measured, Predicted            float64 // efficiencies
	Exchanges                      uint64  // whole ones; unsynchronised: events per server
	Lost, Duplicate, Corrupt, Late uint64
	Retransmits                    uint64
	Drops                          uint64      // but those within 1 s of a timed failure
	CPUBusy                        float64     // share of all cores; 0: not known
	Links                          []LinkCount // those Planned are held against their plan

	Control    bool      // the case is what others are compared with
	Slices     []float64 // of the control: the efficiency of each slice that counts; without any, Measured tells
	ControlOff bool      // the run has none
}

// A verdict is built up rule by rule.
type verdict struct{ reasons, warnings []string }

func (v *verdict) wrong(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (v *verdict) odd(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// Judge says whether anything about a measurement is wrong, what, and what else is odd
// about it. The lists are never nil. Noise makes no measurement wrong: how much of it
// there was is said by the interval of the case (see Estimate).
func Judge(e Evidence) (valid bool, reasons, warnings []string) {
	v := verdict{[]string{}, []string{}}
	v.events(e)
	if !e.Simulated {
		v.machine(e)
		v.links(e.Links, e.Retransmits)
		v.control(e)
	}
	return len(v.reasons) == 0, v.reasons, v.warnings
}

func (v *verdict) events(e Evidence) {
	if !e.Complete {
		v.wrong("not complete: the case ended before its time")
	}
	if e.Lost > 0 {
		v.wrong("%d events lost", e.Lost)
	}
	if e.Duplicate > 0 {
		v.wrong("%d events or fragments came twice", e.Duplicate)
	}
	if e.Corrupt > 0 {
		v.wrong("%d fragments corrupt", e.Corrupt)
	}
	if e.Late > 0 {
		v.odd("%d fragments late", e.Late)
	}
}

func (v *verdict) machine(e Evidence) {
	if e.Drops > 0 {
		v.wrong("%d packets dropped more than 1 s away from any timed failure", e.Drops)
	}
	if e.CPUBusy > maxBusy {
		v.odd("processors busy more than %.0f %% of the time, by this run or by others", 100*maxBusy)
	}
	if e.Measured > overOne {
		v.odd("efficiency %.3f is above 1: bursts that the links let pass unshaped count for too much; take larger fragments", e.Measured)
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
func (v *verdict) control(e Evidence) {
	if e.ControlOff {
		v.odd("no control: the scenario says control: off")
	}
	if !e.Control || e.Predicted <= 0 {
		return
	}
	i := NewInterval(e.Slices)
	if i.N == 0 {
		i.Median = e.Measured
	}
	got, most := i.Median/e.Predicted, i.Median/e.Predicted
	if i.Known() {
		most = *i.Hi / e.Predicted
	}
	switch {
	case most < badControl:
		v.wrong("the control reached %.3f of its prediction, less than %.2f: links, phases or the machine are not what the prediction takes them for", got, badControl)
	case got < minControl:
		v.odd("the control reached %.3f of its prediction, less than %.2f: the machine slows all cases down; ratios to the control suffer least", got, minControl)
	}
}
