package load

import (
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
)

// A Search finds the highest rate that a network takes: rates are measured one after the other, between the highest
// that was taken and the lowest that was not, until these differ by no more than a measurement shows. Then both are
// measured again, since noise may have decided one of them: what two measurements contradict, a third decides. It is
// pure: the caller measures.
type Search struct {
	First  float64 // rate to begin with
	Finest float64 // share of the rate by which the two may differ at the end
	Most   int     // measurements

	rates []tried // in the order in which they were tried first
	done  int
	jump  float64 // share by which the next rate is higher or lower while one of the two is not known
}

// A tried rate, and what its measurements say.
type tried struct {
	rate           float64
	taken, refused int
	carried        float64 // of it was built, in the measurements that refused it
}

func (t tried) sum() int { return t.taken - t.refused }

// Tell takes a measurement at a rate. carried is the rate at which events were built, of one that was not taken.
func (s *Search) Tell(rate float64, taken bool, carried float64) {
	s.done++
	at := s.at(rate)
	if at < 0 {
		at = len(s.rates)
		s.rates = append(s.rates, tried{rate: rate, carried: rate})
	}
	t := &s.rates[at]
	if taken {
		t.taken++
		return
	}
	t.refused++
	t.carried = min(t.carried, carried)
}

// Limits are the highest rate that was taken and the lowest above it that was not; 0: none was.
func (s *Search) Limits() (taken, refused float64) {
	for _, t := range s.rates {
		if t.sum() > 0 {
			taken = max(taken, t.rate)
		}
	}
	for _, t := range s.rates {
		if t.sum() < 0 && t.rate > taken && (refused == 0 || t.rate < refused) {
			refused = t.rate
		}
	}
	return taken, refused
}

// The share of a rate by which a Search first goes beyond it, and how much of what was carried it tries next: a rate
// that is refused leaves some events waiting, and they are not counted.
const (
	firstJump = .02
	ofCarried = .99
)

// Next is the rate to measure next; false: the search is over.
func (s *Search) Next() (rate float64, more bool) {
	if s.done >= s.Most {
		return 0, false
	}
	if len(s.rates) == 0 {
		return s.First, true
	}
	for _, t := range s.rates {
		if t.sum() == 0 {
			return t.rate, true
		}
	}
	taken, refused := s.Limits()
	switch {
	case taken == 0 || refused == 0:
		return s.beyond(taken, refused), true
	case refused/taken-1 > s.Finest:
		return (taken + refused) / 2, true
	}
	for _, rate := range []float64{taken, refused} {
		if s.of(rate).sum() < 2 && s.of(rate).sum() > -2 {
			return rate, true
		}
	}
	return 0, false
}

// beyond is a rate above all that were taken, or below all that were refused.
func (s *Search) beyond(taken, refused float64) float64 {
	s.jump = max(firstJump, s.Finest, 4*s.jump)
	if refused == 0 {
		return taken * (1 + s.jump)
	}
	return max(0.01*refused, min(refused*(1-min(s.jump, .5)), s.of(refused).carried*ofCarried))
}

// at is the index of a rate; -1: it was not tried.
func (s *Search) at(rate float64) int {
	return slices.IndexFunc(s.rates, func(t tried) bool { return t.rate == rate })
}

// of is a rate that was tried.
func (s *Search) of(rate float64) tried { return s.rates[s.at(rate)] }

// Doubt says why the limits are not known; "": they are.
func (s *Search) Doubt() string {
	taken, refused := s.Limits()
	switch {
	case taken == 0:
		return fmt.Sprintf("none of %d rates was taken, the lowest %s", len(s.rates), RateText(s.lowest()))
	case refused == 0:
		return fmt.Sprintf("all of %d rates were taken, the highest %s", len(s.rates), RateText(taken))
	case refused/taken-1 > s.Finest:
		return fmt.Sprintf("%d measurements were not enough: %s is taken, %s is not", s.done, RateText(taken), RateText(refused))
	case s.of(taken).sum() < 2 || s.of(refused).sum() > -2:
		return fmt.Sprintf("measurements of %s and %s contradict each other, or could not be made twice", RateText(taken), RateText(refused))
	}
	return ""
}

func (s *Search) lowest() float64 {
	return -lists.MaxOf(s.rates, func(t tried) float64 { return -t.rate })
}

// Finest is the least difference of rates that a case shows which offers so many events: that of 1 %, of two events
// in the half of its time in which what waits is seen to grow, or of what chance makes of it.
func (l Load) Finest(events float64) float64 {
	spread := 2.0
	switch l.Arrival {
	case Poisson:
		spread = max(spread, 2*math.Sqrt(events/4))
	case Bursts:
		spread = max(spread, float64(2*l.Burst))
	}
	return max(.01, spread/max(1, events/2))
}
