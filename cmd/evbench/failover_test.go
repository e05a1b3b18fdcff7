package main

import (
	"slices"
	"testing"

	"evbench/failover"
	"evbench/scenario"
)

// A scenario knows the policies that there are.
func TestScenarioKnowsPolicies(t *testing.T) {
	var want []string
	for _, p := range failover.Policies() {
		want = append(want, string(p))
	}
	if got := scenario.Policies(); !slices.Equal(got, want) {
		t.Errorf("a scenario has policies %q, package failover %q", got, want)
	}
	if scenario.DefaultHold != failover.DefaultHold {
		t.Errorf("a scenario holds links out for %s, package failover for %s", scenario.DefaultHold, failover.DefaultHold)
	}
}
