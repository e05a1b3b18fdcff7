package bench

import (
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// Progress says what has come about in a run, when and where. Whoever is told may keep it;
// nothing in it is changed any more.
type Progress struct {
	At     time.Time
	Rounds int // 0: until all that is compared is resolved
	Place
	Event Event
}

// Stage is the word for the event in texts and documents, "" without one.
func (p Progress) Stage() string {
	if p.Event == nil {
		return ""
	}
	return p.Event.stage()
}

// A Place is how far a run is. The events from Installing to Done are of a slice; the others
// have a round alone, and Begun has none.
type Place struct {
	Round        int // from 1
	Case         string
	Index, Count int           // of the slices of the round, from 0
	Duration     time.Duration // of the measured part, as planned
}

// An Event is one of the types below, in the order of a run.
type Event interface{ stage() string }

type (
	// Begun: all workers have joined. It has what is to be measured, and what the manifest says of it.
	Begun struct {
		Manifest results.Manifest
		Cases    []Planned
		Limit    time.Duration // where Rounds is 0: no round begins that would end later
	}

	// Installing: routes of the case are set.
	Installing struct{}

	// WarmingUp: exchanges that do not count come first.
	WarmingUp struct{}

	// Measuring: the measured part begins, which has no figures yet, or an interval of it is over.
	Measuring struct {
		Elapsed      time.Duration // of the measured part
		EventsPerSec float64       // of one server, the mean over all, in the measured part so far
		Interval     float64       // the same in the last whole interval
	}

	// LinksChanged: a timed failure has taken links down or up, while events are built.
	LinksChanged struct{ Down, Up []topology.Link }

	// Replanned: another plan is in use.
	Replanned struct{ Plan *plan.Plan }

	// FailedOver: all is done about a change of links. Rates are missing, since they need what comes after it.
	FailedOver struct{ Failover results.Failover }

	// Done: a slice is over. It has what the slice came to, not judged, and what links carried in it.
	Done struct {
		Slice   results.Case
		Links   []results.LinkCount // nil where the fabric cannot count
		Summary results.Summary     // of the run so far
	}

	// RoundDone: all cases have had their slices.
	RoundDone struct {
		Elapsed time.Duration   // of the run
		Summary results.Summary // of the run so far
	}

	// Ended: whatever the reason.
	Ended struct{ Summary results.Summary }
)

func (Begun) stage() string        { return "begun" }
func (Installing) stage() string   { return "install" }
func (WarmingUp) stage() string    { return "warm up" }
func (Measuring) stage() string    { return "measure" }
func (LinksChanged) stage() string { return "links changed" }
func (Replanned) stage() string    { return "new plan" }
func (FailedOver) stage() string   { return "failed over" }
func (Done) stage() string         { return "done" }
func (RoundDone) stage() string    { return "round done" }
func (Ended) stage() string        { return "ended" }

// progress tells an event. Several goroutines do, and no two at a time.
func (r *runner) progress(p Place, e Event) {
	if r.o.Progress == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.o.Progress(Progress{At: time.Now(), Rounds: r.plan.Count, Place: p, Event: e})
}
