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

// another reports whether a further round is to begin: where no number of rounds was
// asked for, if something is open and as long a round as the mean of those before ends
// within the limit.
func (r rounds) another(done int, elapsed time.Duration, open bool) bool {
	if r.Count > 0 {
		return done < r.Count
	}
	return open && elapsed+elapsed/time.Duration(done) <= r.Limit
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
