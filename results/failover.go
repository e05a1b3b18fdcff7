package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/answer"
	"evbench/scheduler/schedules"
)

// A Failover describes the reaction to one change of live links while events were built. Times are
// seconds since the case's measured part began. The time of a step that did not happen is null in
// JSON, and empty in failovers.csv.
type Failover struct {
	Case   string   `json:"-" col:"case" unit:"" key:"yes"`
	Repeat int      `json:"-" col:"repeat" unit:""`
	ID     int      `json:"id" unit:"" key:"yes"` // from 1, in a case
	Down   []string `json:"down,omitempty" unit:""`
	Up     []string `json:"up,omitempty" unit:""`
	Dead   []string `json:"dead" unit:""`           // what is not used from then on
	Held   []string `json:"held,omitempty" unit:""` // of these, up but held out

	FailoverTimes

	Source     string `json:"source,omitempty" unit:""` // "computed" or "kept"
	Phases     int    `json:"phases,omitempty" unit:"phase"`
	PlanHash   string `json:"plan_hash,omitempty" unit:""`
	From       uint64 `json:"from_exchange,omitempty" unit:"exchange"`
	Routes     int    `json:"routes_changed" unit:"route"`
	Attempts   int    `json:"attempts,omitempty" unit:""`
	Superseded bool   `json:"superseded,omitempty" unit:""`
	Reason     string `json:"reason,omitempty" unit:""` // why it is not in use, or took more than one attempt; first FromOutside

	// Events per second of each server, computed from the payload of all: before the change, from
	// the change to the end of the first exchange on the new plan (of the repair, if that is all),
	// and after it, until the next change. Null: too short to tell, unlike 0.
	BeforeEventsPerSec *float64 `json:"before_events_per_s" unit:"event/s"`
	DuringEventsPerSec *float64 `json:"during_events_per_s" unit:"event/s"`
	AfterEventsPerSec  *float64 `json:"after_events_per_s" unit:"event/s"`
}

// FailoverTimes are the times of the steps.
type FailoverTimes struct {
	SetSec       *float64 `json:"set_s" unit:"s"`       // the link was changed, where evbench did it
	SeenSec      *float64 `json:"seen_s" unit:"s"`      // the event had been read
	AidedSec     *float64 `json:"aided_s" unit:"s"`     // first aid was in place
	PlannedSec   *float64 `json:"planned_s" unit:"s"`   // the plan was there
	VerifiedSec  *float64 `json:"verified_s" unit:"s"`  // and judged
	InstalledSec *float64 `json:"installed_s" unit:"s"` // its routes were in place and read back
	UpdatedSec   *float64 `json:"updated_s" unit:"s"`   // every worker had it
	LastOldSec   *float64 `json:"last_old_s" unit:"s"`  // the last exchange on the old plan had ended
	FirstNewSec  *float64 `json:"first_new_s" unit:"s"` // the first on the new plan had ended
	CleanedSec   *float64 `json:"cleaned_s" unit:"s"`   // old routes were gone
}

// Failovers returns the fail-overs of all cases, each with the name of its case.
func (s Summary) Failovers() []Failover {
	var out []Failover
	for _, c := range s.Cases {
		for _, f := range c.Failovers {
			f.Case, f.Repeat = c.Name, c.Repeat
			out = append(out, f)
		}
	}
	return out
}

// FromOutside begins the reason of a record about links that changed without evbench.
const FromOutside = "changed from outside"

// An outage is the first dead link of a case: how long links were not used, and how much throughput
// was lost in the whole case, as the time that it would have taken before.
type outage struct {
	Case
	f          Failover
	lost, dead float64
}

// outages states which case lost least, how much, and what it did; and which cases were slow before any link died.
func (r *reading) outages() (out []answer.Finding, subjects []int) {
	var outages []outage
	var plan float64 // the share that the best plan around the links keeps; 0: no case has one
	var stuck, disturbed []answer.Finding
	for i, c := range r.cases {
		at := slices.IndexFunc(c.Failovers, func(f Failover) bool { return len(f.Down) > 0 })
		if c.Control || at < 0 {
			continue
		}
		f := c.Failovers[at]
		subjects = append(subjects, i)
		if f.Phases > 0 && c.Phases > 0 {
			plan = max(plan, min(1, float64(c.Phases)/float64(f.Phases)))
		}
		if text := f.disturbed(c); text != "" {
			doubt := answer.Doubt{Text: "what the link costs is not known", Remedy: r.quieter()}
			disturbed = append(disturbed, answer.Finding{Text: text, Doubts: []answer.Doubt{doubt}})
		} else {
			outages = append(outages, c.outage(f))
		}
		if f.Reason != "" && f.FirstNewSec == nil && !f.Superseded {
			stuck = append(stuck, answer.Finding{Text: Quoted(c.Name) + ": " + f.Reason, Place: answer.Below})
		}
	}
	if c := r.control; c != nil && !r.hosts() && slices.ContainsFunc(c.Reasons, func(why string) bool { return strings.HasPrefix(why, controlReached) }) {
		doubt := answer.Doubt{Text: "what a link costs beside it is not known", Remedy: r.quieter()} // the machine was too slow, or too busy
		text := fmt.Sprintf("the control reached %.0f %% of its prediction", 100*c.MeasuredEfficiency/c.PredictedEfficiency)
		return append(stuck, answer.Finding{Text: text, Doubts: []answer.Doubt{doubt}}), subjects
	}
	slices.SortStableFunc(outages, func(x, y outage) int { return cmp.Compare(x.lost, y.lost) })
	if len(outages) > 0 {
		out = least(outages, plan)
	}
	return slices.Concat(stuck, out, disturbed), subjects
}

func (c Case) outage(f Failover) outage {
	o := outage{Case: c, f: f, lost: math.Inf(1)}
	for i, x := range c.Failovers {
		until := c.MeasuredSec
		if i+1 < len(c.Failovers) {
			until = c.Failovers[i+1].begin()
		}
		if len(x.Dead) > 0 {
			o.dead += max(0, until-x.begin())
		}
	}
	if sec, known := c.LostSec(); known {
		o.lost = sec
	}
	return o
}

// LostSec is the throughput that a case lost in all its time because links died, as the time that it
// would have taken before; known says whether that is known.
func (c Case) LostSec() (sec float64, known bool) {
	at := slices.IndexFunc(c.Failovers, func(f Failover) bool { return len(f.Down) > 0 })
	if c.Control || at < 0 || c.Failovers[at].BeforeEventsPerSec == nil || *c.Failovers[at].BeforeEventsPerSec <= 0 {
		return 0, false
	}
	return max(0, 1 - c.EventsPerSec.Mean / *c.Failovers[at].BeforeEventsPerSec) * c.MeasuredSec, true
}

// halfKept is the share that a policy without a plan must keep, not to be bad.
const halfKept = 0.5

// nameByPolicy names cases that a matrix made of their policies by these, and reports whether it did.
func nameByPolicy(outages []outage) bool {
	if len(outages) < 2 {
		return false
	}
	seen := map[string]bool{"": true}
	for _, o := range outages {
		if seen[o.Failover] || !strings.HasSuffix(o.Name, o.Failover) {
			return false
		}
		seen[o.Failover] = true
	}
	for i := range outages {
		outages[i].Name = outages[i].Failover
	}
	return true
}

// least names the case with the smallest loss: how much it lost, which case lost most, and what its policy did.
// It is good if it kept GoodFrom of what its plan can, and not known without a plan, unless it lost half.
func least(outages []outage, plan float64) []answer.Finding {
	byPolicy := nameByPolicy(outages)
	best, worst := outages[0], outages[len(outages)-1]
	begin, advised := Quoted(best.Name), schedules.FORS
	if byPolicy {
		begin = "policy " + begin
	}
	if strings.Contains(best.Schedule, schedules.PathColoring) { // over tables that are not evbench's
		advised = "reorder"
	}
	links := strings.Join(best.f.Down, " and ")
	did := answer.Finding{Text: best.f.did(best.Case)}
	if math.IsInf(best.lost, 1) {
		return []answer.Finding{{Text: "what the death of " + links + " cost is not known", Place: answer.Across}, did}
	}
	much := "the throughput of " + span(best.lost)
	if best.lost == 0 {
		much = "no throughput"
	}
	lost := answer.Finding{Place: answer.At, Text: fmt.Sprintf("%s lost %s in %s without %s", begin, much, span(best.dead), links)}
	if worst.lost > best.lost && !math.IsInf(worst.lost, 1) {
		lost.Text += fmt.Sprintf(", the least; %s lost most, %s", Quoted(worst.Name), span(worst.lost))
	}
	kept, possible := max(0, 1-best.lost/best.dead), cmp.Or(plan, 1)
	share := answer.Finding{Text: fmt.Sprintf("%s kept %.0f %% of its throughput without %s", begin, 100*kept, links), Place: answer.Below}
	switch {
	case best.dead == 0 || kept >= GoodFrom*possible:
		return []answer.Finding{lost, did}
	case best.f.Phases > 0:
		share.Text += fmt.Sprintf(", its plan can keep %.0f %%: hold a link that flaps, or measure longer", 100*possible)
	case plan > 0:
		share.Text += fmt.Sprintf(", a plan can keep %.0f %%: set failover: %s", 100*possible, advised)
	case kept < halfKept:
		share.Text += fmt.Sprintf(" (bad below %.0f %%): set failover: %s", 100*halfKept, advised)
	default:
		share.Doubts = []answer.Doubt{{Text: "whether a plan keeps more is not known", Remedy: "add a case with failover: " + advised}}
	}
	return []answer.Finding{share, lost, did}
}

// disturbed says how far a case is below the control, "" where its times and throughput count.
// Before the link died the network was as healthy as for the control. A synchronised case has a
// prediction for the whole time.
func (f Failover) disturbed(c Case) string {
	healthy := !slices.ContainsFunc(c.Failures, func(failure string) bool { return !strings.Contains(failure, " at ") })
	if before := f.BeforeEventsPerSec; healthy && before != nil && c.EventsPerSec.Mean > 0 && c.RatioToControl > 0 {
		if ratio := *before / c.EventsPerSec.Mean * c.RatioToControl; ratio < badControl {
			return fmt.Sprintf("%s reached %.0f %% of the control before %s died", Quoted(c.Name), 100*ratio, strings.Join(f.Down, " and "))
		}
	}
	if c.Mode == modes.Sync && c.RatioToControl > 0 && c.RatioToControl < badControl*c.PredictedRatio {
		return fmt.Sprintf("%s reached %.0f %% of the control, %.0f %% was predicted", Quoted(c.Name), 100*c.RatioToControl, 100*c.PredictedRatio)
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
		done = []string{"nothing was done under policy " + Quoted(c.Failover)}
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
	return text
}

// begin is when the links died or, if not known, when that was seen.
func (f Failover) begin() float64 {
	return *cmp.Or(f.SetSec, f.SeenSec, new(float64))
}

// span writes seconds.
func span(sec float64) string {
	if sec < 1 {
		return fmt.Sprintf("%.3g ms", 1e3*sec)
	}
	return fmt.Sprintf("%.3g s", sec)
}
