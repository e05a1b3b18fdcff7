package bench

import (
	"math/rand/v2"
	"slices"
	"time"

	"evbench/results"
	"evbench/scenario"
)

// Rounds decide what is measured next. They are told how long the run has gone on and
// what has come out, and read no clock.
type rounds struct {
	scenario.Rounds
	seed  uint64
	cases int
	// Of the rounds so far: how many there were, and the cases that they measured, added up.
	done, measured int
}

// next returns the places of the cases that the next round measures, in their order; none:
// the run is over. The first round has all cases. Where no number of rounds was asked for, a
// further one has those that are wanted, and begins if it ends within the limit when each
// case takes as long as the mean of those before.
func (r rounds) next(elapsed time.Duration, sofar []results.Case) []int {
	switch {
	case r.done == 0, r.done < r.Count:
		return r.order(r.done)
	case r.Count > 0:
		return nil
	}
	places := wanted(sofar)
	if elapsed+elapsed*time.Duration(len(places))/time.Duration(r.measured) > r.Limit {
		return nil
	}
	return slices.DeleteFunc(r.order(r.done), func(place int) bool { return !slices.Contains(places, place) })
}

// wanted returns the places of the cases that a further round is to measure: those that are
// compared until they are settled, then those of the others that have no interval over
// rounds, and beside them the control.
func wanted(cases []results.Case) (places []int) {
	open := func(c results.Case) bool { return c.Compared }
	if settled(cases) {
		open = func(c results.Case) bool { return !c.Compared && !c.Control && !overRounds(c) }
	}
	if !slices.ContainsFunc(cases, open) {
		return nil
	}
	for i, c := range cases {
		if c.Control || open(c) {
			places = append(places, i)
		}
	}
	return places
}

// overRounds reports whether a case has an interval that shows how rounds differ.
func overRounds(c results.Case) bool {
	return c.Estimate != nil && c.Estimate.Known() && c.Estimate.Over == results.OverRounds
}

// order returns the places of the cases in the order in which a round measures them. It
// is drawn anew for each round, so that no case always follows the same one. A round alone
// has the order of the scenario.
func (r rounds) order(round int) []int {
	order := rand.New(rand.NewPCG(r.seed, uint64(round))).Perm(r.cases)
	if r.Count == 1 {
		slices.Sort(order)
	}
	return order
}

// mostTries is how often a slice is measured in a round before the round does without.
const mostTries = 3

// again reports whether a rejected slice is measured once more in its round: while that
// leaves time for what else is to come. With a number of rounds the time is not limited.
func (r rounds) again(tries int, elapsed, slice time.Duration) bool {
	return tries < mostTries && (r.Count > 0 || elapsed+2*slice <= r.Limit)
}

// settled reports whether all that is compared, if anything is, is resolved, and over
// rounds: exchanges of few slices say less.
func settled(cases []results.Case) bool {
	for _, c := range cases {
		if c.Compared && (c.Verdict != results.Resolved || c.Estimate.Over != results.OverRounds) {
			return false
		}
	}
	return true
}
