package policy

import (
	"time"

	"evbench/failover"
)

// A Phase says what a policy is at.
type Phase int

// Phases of a fail-over.
const (
	Healthy   Phase = iota // the plan without failures, over its own paths
	Replanned              // another plan, over its own paths
	FirstAid               // tables or detours lead around links that the plan counts on
	Standing               // nothing gets through to somebody
	phases
)

// phase returns what a policy is at in a state. Tables that avoid no more than the plan
// change nothing in it.
func (x State) phase() Phase {
	switch {
	case x.Standing:
		return Standing
	case !subset(x.Tables, x.Plan):
		return FirstAid
	case x.Plan != "":
		return Replanned
	}
	return Healthy
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

// LostShare is what is lost of what could have been built.
func (r *Result) LostShare() float64 {
	if all := r.Built + r.Lost; all > 0 {
		return r.Lost / all
	}
	return 0
}

// tbit is a terabit.
const tbit = 1e12

// Reckon adds up what a story builds. Its rates must have been learnt.
func Reckon(s *Story, rates *Rates) *Result {
	out := &Result{Policy: s.Policy, Healthy: rates.Of(s.Policy, State{}) / tbit, Switches: s.Switches}
	var sec, lost [phases]float64
	var hours []float64
	standing := false
	for _, x := range s.Spells {
		rate := rates.Of(s.Policy, x.State) / tbit
		p := x.State.phase()
		sec[p] += x.For.Seconds()
		lost[p] += (out.Healthy - rate) * x.For.Seconds()
		out.Built += rate * x.For.Seconds()
		hours = spread(hours, x, out.Healthy-rate)
		if x.State.Standing && !standing {
			out.Stops++
		}
		standing = x.State.Standing
	}
	out.HealthySec, out.ReplannedSec, out.FirstAidSec, out.StandingSec = sec[Healthy], sec[Replanned], sec[FirstAid], sec[Standing]
	out.LostReplanned, out.LostFirstAid, out.LostStanding = lost[Replanned], lost[FirstAid], lost[Standing]
	out.Lost = lost[Healthy] + lost[Replanned] + lost[FirstAid] + lost[Standing]
	for h, l := range hours {
		if l > out.WorstHourLost {
			out.WorstHour, out.WorstHourLost = h, l
		}
	}
	u := s.Unused
	out.UnusedSec, out.UnusedLinks, out.UnusedTimes, out.UnusedLongestSec = u.Total.Seconds(), len(u.Links), u.Times, u.Longest.Seconds()
	return out
}

// spread adds what is lost in a spell to the hours that it lies in.
func spread(hours []float64, x Spell, rate float64) []float64 {
	for at, left := x.At, x.For; left > 0; {
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
