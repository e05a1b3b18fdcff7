package bench

import (
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/topology"
)

// The stages of a run. From Installing to Done they are of one slice of a case.
const (
	Begun        = "begun" // all workers have joined
	Installing   = "install"
	WarmingUp    = "warm up"
	Measuring    = "measure"
	LinksChanged = "links changed" // while events are built; then the stage is Measuring again
	Replanned    = "new plan"      // is in use
	FailedOver   = "failed over"   // all is done about a change of links
	Done         = "done"
	RoundDone    = "round done" // all cases have had their slices
	Ended        = "ended"      // whatever the reason
)

// Progress is an event of a run: what has come about, and when. Whoever is told may keep
// it; nothing in it is changed any more.
type Progress struct {
	Stage string
	At    time.Time

	// Of Begun: what is to be measured, and what the manifest says of it.
	Manifest *results.Manifest
	Cases    []Planned
	Limit    time.Duration // where Rounds is 0: no round begins that would end later

	Rounds int // 0: until all that is compared is resolved
	Round  int // from 1

	// Of a slice.
	Case         string
	Index, Count int           // of the slices of the round, from 0
	Elapsed      time.Duration // of the measured part; of RoundDone: of the run
	Duration     time.Duration // of the measured part, as planned
	EventsPerSec float64       // of one server, the mean over all, in the measured part so far
	Interval     float64       // the same in the last whole interval

	Down, Up []topology.Link   // of LinksChanged
	Plan     *plan.Plan        // of Replanned
	Failover *results.Failover // of FailedOver, without rates: those need what comes after it

	// Of Done: what the slice came to, not judged, and what links carried in it.
	Slice *results.Case
	Links []results.LinkCount

	// Of Done, RoundDone and Ended: what the run has come to so far.
	Summary *results.Summary
}

// progress tells an event. Several goroutines do, and no two at a time.
func (r *runner) progress(p Progress) {
	if r.o.Progress == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	p.At, p.Rounds = time.Now(), r.plan.Count
	r.o.Progress(p)
}
