package uneven_test

import (
	"testing"

	"evbench/model/uneven"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
	"evbench/view/plans"
)

// A host at half the link rate needs twice as long for its messages, and no plan is shorter.
func TestSlowHost(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2})
	r := topology.Rates{Hosts: []topology.SlowHost{{Rank: 1, Share: 0.5}}}
	made, slower, err := uneven.Build(tree, plan.Options{Schedule: "fors", Seed: 1}, r)
	expect.MustTrue(t, err == nil && made.Phases() == 3 && slower.Time == 6 && slower.Least == 6, "%v, %+v", err, slower)
	cost := made.Cost(plan.Equal, 0)
	cost.Duration = max(cost.Duration, slower.Time)
	a := slower.Answer(plan.Question(tree), plans.Takes(made, cost), tree)
	expect.Contains(t, a.String(), "GOOD: The exchange by fors takes as long as 6 messages in a row, 50.0 % of the link rate: no plan is shorter.")
	expect.Equal(t, a.Why, []string{"server1 has 3 messages to send or to receive over a cable of 50.0 % of the link rate"}, "why")
}

// A plan that reaches the bound of whole links is the shortest, whatever links are slow, and says that it uses none of
// them; where links carry more than plans count, nothing is known.
func TestAtTheBound(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2, Cables: 3, Spines: 1})
	slow := []topology.SlowLink{{Link: tree.Cable(1, 0, 2), Share: 0.5}}
	for _, faster := range []bool{false, true} {
		made, slower, err := uneven.Build(tree, plan.Options{Schedule: "fors", Seed: 1}, topology.Rates{Slow: slow, Faster: faster})
		expect.MustTrue(t, err == nil && slower.Any() == faster && slower.Time == slower.Least && len(slower.Uses) == 0, "%v, %+v", err, slower)
		if cost := made.Cost(plan.Equal, 0); faster {
			expect.Contains(t, slower.Answer(plan.Question(tree), plans.Takes(made, cost), tree).String(), "NOT KNOWN: ")
		}
	}
}
