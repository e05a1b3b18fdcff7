package main

import (
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/routing"
	"evbench/scenario"
)

// The planner, the judge and the scenarios each have a list of routings of their
// own, and accept the same. A scenario needs routes, so it knows no "none".
func TestRoutingsAgree(t *testing.T) {
	planned := slices.Sorted(slices.Values(plan.Routings()))
	_, err := verify.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing magic\n"))
	expect.MustTrue(t, err != nil, "the judge knows a routing magic")
	_, list, _ := strings.Cut(err.Error(), "there are ")
	expect.True(t, slices.Equal(slices.Sorted(slices.Values(strings.Split(list, ", "))), planned), "the judge: %v, want %v", err, planned)
	expect.Equal(t, slices.Sorted(slices.Values(append(scenario.Routings(), plan.NoRouting))), planned, "scenarios")
	last := scenario.Routings()[len(scenario.Routings())-1]
	expect.True(t, last == routing.Pinned, "the last routing of scenarios is %s; texts leave it out as pinned", last)
}

// The judge reads a plan of each routing that it lists.
func TestJudgeReadsEveryRouting(t *testing.T) {
	for _, name := range plan.Routings() {
		_, err := verify.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing " + name + "\n0 0 1 -\n"))
		expect.OK(t, err, "%s", name)
	}
}
