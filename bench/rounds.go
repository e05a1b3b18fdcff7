package bench

import (
	"math/rand/v2"
	"slices"
	"time"

	"evbench/results"
	"evbench/scenario"
)

// Rounds decide what is measured next, from the elapsed time and the results so far. They read no
// clock.
type rounds struct {
	scenario.Rounds
	seed  uint64
	cases int
	// The rounds so far: their number, and the total number of cases that they measured.
	done, measured int
}

// next returns the indexes of the cases that the next round measures, in order; none: the run is
// over. The first round has all cases. Without a requested number of rounds, a further round has
// the wanted cases. It begins if it ends within the limit when each case takes the mean time of
// those before.
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

// wanted returns the indexes of the cases for a further round: compared cases until they are
// settled, then other cases without an interval over rounds, and with them the control.
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

// overRounds reports whether a case has an interval that covers the spread of rounds.
func overRounds(c results.Case) bool {
	return c.Estimate != nil && c.Estimate.Known() && c.Estimate.Over == results.OverRounds
}

// order returns the indexes of the cases in the order of a round. It is drawn anew for each round,
// so that no case always follows the same one. A single round has the order of the scenario.
func (r rounds) order(round int) []int {
	order := rand.New(rand.NewPCG(r.seed, uint64(round))).Perm(r.cases)
	if r.Count == 1 {
		slices.Sort(order)
	}
	return order
}

// mostTries is how often a round measures a slice before giving up on it.
const mostTries = 3

// again reports whether a rejected slice is repeated in its round: if that leaves time for the
// rest. With a requested number of rounds time is not limited.
func (r rounds) again(tries int, elapsed, slice time.Duration) bool {
	return tries < mostTries && (r.Count > 0 || elapsed+2*slice <= r.Limit)
}

// settled reports whether all comparisons, if any, are resolved, and over rounds: the exchanges of
// few slices say less.
func settled(cases []results.Case) bool {
	return !slices.ContainsFunc(cases, func(c results.Case) bool {
		return c.Compared && (c.Verdict != results.Resolved || c.Estimate.Over != results.OverRounds)
	})
}
