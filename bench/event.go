package bench

import (
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// Progress is an event of a run, with its time and place. A receiver may keep it: it never changes.
type Progress struct {
	At     time.Time
	Rounds int // 0: until all comparisons are resolved
	Place
	Event Event
}

// Stage is the word for the event in texts and documents, "" without an event.
func (p Progress) Stage() string {
	if p.Event == nil {
		return ""
	}
	return p.Event.stage()
}

// A Place is a position in a run. The events from Installing to Done belong to a slice; the others
// have only a round, and Begun has none.
type Place struct {
	Round        int // from 1
	Case         string
	Index, Count int           // slice of the round, from 0, and their number
	Duration     time.Duration // of the measured part, as planned
}

// An Event is one of the types below, in the order of a run.
type Event interface{ stage() string }

type (
	// Begun: all workers have joined. It has the cases to measure, and their description for the
	// manifest.
	Begun struct {
		Manifest results.Manifest
		Cases    []Planned
		Limit    time.Duration // if Rounds is 0: no round begins that would end later
	}

	// Added: a case that the run measures beside those of Begun.
	Added struct{ Case Planned }

	// Installing: routes of the case are set.
	Installing struct{}

	// WarmingUp: exchanges of the warm-up run.
	WarmingUp struct{}

	// Measuring: the measured part begins, without figures yet, or one of its intervals is over.
	Measuring struct {
		Elapsed      time.Duration    // of the measured part
		EventsPerSec float64          // of one server, the mean over all, in the measured part so far
		Interval     float64          // the same in the last whole interval
		Buffers      *results.Buffers // of a clock; nil without one
	}

	// LinksChanged: a timed failure has taken links down or up, during event building.
	LinksChanged struct{ Down, Up []topology.Link }

	// Replanned: another plan is in use.
	Replanned struct{ Plan *plan.Plan }

	// FailedOver: a change of links has been handled. Rates are missing, because they need later
	// data.
	FailedOver struct{ Failover results.Failover }

	// Done: a slice is over. It has the result of the slice, not judged, and what links, pairs and servers counted in it.
	Done struct {
		Slice   results.Case
		Links   []results.LinkCount // nil if the fabric cannot count
		Pairs   []results.PairCount // nil where they are not counted
		Servers []results.ServerCount
		Summary results.Summary // of the run so far
	}

	// RoundDone: all cases have had their slices.
	RoundDone struct {
		Elapsed time.Duration   // of the run
		Summary results.Summary // of the run so far
	}

	// Ended: for any reason.
	Ended struct{ Summary results.Summary }
)

func (Begun) stage() string        { return "begun" }
func (Added) stage() string        { return "added" }
func (Installing) stage() string   { return "install" }
func (WarmingUp) stage() string    { return "warm up" }
func (Measuring) stage() string    { return "measure" }
func (LinksChanged) stage() string { return "links changed" }
func (Replanned) stage() string    { return "new plan" }
func (FailedOver) stage() string   { return "failed over" }
func (Done) stage() string         { return "done" }
func (RoundDone) stage() string    { return "round done" }
func (Ended) stage() string        { return "ended" }

// progress passes on an event. Several goroutines call it; events come one at a time.
func (r *runner) progress(p Place, e Event) {
	if r.o.Progress == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.o.Progress(Progress{At: time.Now(), Rounds: r.plan.Count, Place: p, Event: e})
}
