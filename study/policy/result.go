package policy

import (
	"time"

	"evbench/failover"
)

type phaseKind int

// Phases of a fail-over.
const (
	healthyPhase   phaseKind = iota // the plan without failures, over its own paths
	replannedPhase                  // another plan, over its own paths
	firstAidPhase                   // tables or detours lead around links that the plan counts on
	stoppedPhase                    // nothing gets through to somebody
	phases
)

// phase returns what a policy is at in a state. Tables that avoid no more than the plan
// change nothing in it.
func (x State) phase() phaseKind {
	switch {
	case x.stopped:
		return stoppedPhase
	case !subset(x.tables, x.plan):
		return firstAidPhase
	case x.plan != "":
		return replannedPhase
	}
	return healthyPhase
}

// A Result is what a policy is worth over a log. Rates are Tbit/s, amounts Tb (10^12
// bit), of all servers together.
type Result struct {
	Policy  failover.Policy `json:"policy"`
	Healthy float64         `json:"healthy_tbit_per_s"` // when nothing is dead
	Built   float64         `json:"built_tb"`
	Lost    float64         `json:"lost_tb"` // against Healthy all the time
	// Lost is the sum of what is lost in each phase.
	LostReplanned float64 `json:"lost_replanned_tb"`
	LostFirstAid  float64 `json:"lost_first_aid_tb"`
	LostStanding  float64 `json:"lost_standing_tb"`

	HealthySec   float64 `json:"healthy_s"`
	ReplannedSec float64 `json:"replanned_s"`
	FirstAidSec  float64 `json:"first_aid_s"`
	StandingSec  float64 `json:"standing_s"`

	Stops    int `json:"stops"`    // times that event building stood still
	Switches int `json:"switches"` // changes of plan

	// UnusedSec is how long links were up but not used, added up over UnusedLinks links;
	// it happened UnusedTimes times and lasted UnusedLongestSec at most.
	UnusedSec        float64 `json:"unused_link_s"`
	UnusedLinks      int     `json:"unused_links"`
	UnusedTimes      int     `json:"unused_times"`
	UnusedLongestSec float64 `json:"unused_longest_s"`

	// WorstHour is the hour of the log, from its begin, in which most was lost.
	WorstHour     int     `json:"worst_hour"`
	WorstHourLost float64 `json:"worst_hour_lost_tb"`
}

func (r *Result) lostShare() float64 {
	if all := r.Built + r.Lost; all > 0 {
		return r.Lost / all
	}
	return 0
}

const tbit = 1e12

// AddUp adds up what a timeline builds. Its rates must have been learnt.
func AddUp(s *Timeline, rates *Rates) *Result {
	out := &Result{Policy: s.Policy, Healthy: rates.of(s.Policy, State{}) / tbit, Switches: s.switches}
	sec := [phases]*float64{&out.HealthySec, &out.ReplannedSec, &out.FirstAidSec, &out.StandingSec}
	lost := [phases]*float64{new(0.0), &out.LostReplanned, &out.LostFirstAid, &out.LostStanding}
	var hours []float64
	stopped := false
	for _, x := range s.Intervals {
		rate := rates.of(s.Policy, x.state) / tbit
		p := x.state.phase()
		*sec[p] += x.lasts.Seconds()
		*lost[p] += (out.Healthy - rate) * x.lasts.Seconds()
		out.Built += rate * x.lasts.Seconds()
		hours = spread(hours, x, out.Healthy-rate)
		if x.state.stopped && !stopped {
			out.Stops++
		}
		stopped = x.state.stopped
	}
	for _, l := range lost {
		out.Lost += *l
	}
	for h, l := range hours {
		if l > out.WorstHourLost {
			out.WorstHour, out.WorstHourLost = h, l
		}
	}
	u := s.unused
	out.UnusedSec, out.UnusedLinks, out.UnusedTimes, out.UnusedLongestSec = u.total.Seconds(), len(u.links), u.times, u.longest.Seconds()
	return out
}

func spread(hours []float64, x Interval, rate float64) []float64 {
	for at, left := x.at, x.lasts; left > 0; {
		h := int(at / time.Hour)
		for len(hours) <= h {
			hours = append(hours, 0)
		}
		part := min(left, time.Duration(h+1)*time.Hour-at)
		hours[h] += rate * part.Seconds()
		at, left = at+part, left-part
	}
	return hours
}
