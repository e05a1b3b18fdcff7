// Package policy answers: what does a policy of fail-over build and lose over a log of
// failures? It takes months of failures through the state machine of package failover
// in virtual time, and carries its actions out after stated times. Between two changes
// of what is dead, which plan is in use, which links the tables avoid and whether
// messages get through, the models of package sim say what is built; the sums are what
// a policy builds and loses.
//
// The way of the data: FromFailures (a Log) → replay (a Timeline, no rates) → Rates (what
// each distinct state builds, worked out once and several at a time) → AddUp (a Result).
//
// What is assumed:
//
//   - A dead link stops all event building until the tables lead around it: an exchange
//     in phases ends for nobody while one message is missing, and without phases every
//     event needs all sources. It goes on when TCP next tries again: Times.retransmit
//     after the link died, then twice as long after that, and so on, two minutes apart at
//     most. So a short gap may cost as much as a long one.
//   - The same holds while servers have no path to each other.
//   - A link that comes back does no harm; what is done to use it again stops nothing.
//   - Between first aid and the new plan the old one goes on, its pinned paths over
//     detours. Between two plans nothing waits: the exchange under way ends on the old one.
//   - The first try of everything succeeds, and no worker is lost.
//
// Nothing here reads a clock, opens a file or draws a number that does not come from a seed.
package policy

import (
	"slices"
	"strings"
	"time"

	"evbench/failover"
	"evbench/topology"
)

type options struct {
	Tree  *topology.Tree // without dead links
	Times Times
	// Hold is how long a link must have stayed up before it is used again, for the
	// policy that holds. 0 means failover.DefaultHold.
	Hold time.Duration
}

func (o options) machine(p failover.Policy) failover.Options {
	m := p.Options(o.Tree, o.Hold)
	m.Debounce, m.Wait = o.Times.Debounce, true
	return m
}

// A Dead is a set of links, their names in order of leaf and spine, with spaces between.
type Dead string

func deadOf(links []topology.Link) Dead {
	sorted := slices.Clone(links)
	slices.SortFunc(sorted, topology.Link.Compare)
	var names []string
	for _, l := range slices.Compact(sorted) {
		names = append(names, l.String())
	}
	return Dead(strings.Join(names, " "))
}

// Without returns the tree that has lost the links of the set.
func (d Dead) Without(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for _, name := range strings.Fields(string(d)) {
		links, err := t.Links(name)
		if err != nil {
			return nil, err
		}
		dead = append(dead, links...)
	}
	return t.Without(dead...)
}

func subset(a, b Dead) bool {
	if a == "" || a == b {
		return true
	}
	other := strings.Fields(string(b))
	for name := range strings.FieldsSeq(string(a)) {
		if !slices.Contains(other, name) {
			return false
		}
	}
	return true
}
