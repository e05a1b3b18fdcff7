package main

import (
	"slices"
	"strings"
	"testing"

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
	if err == nil {
		t.Fatal("the judge knows a routing magic")
	}
	_, list, _ := strings.Cut(err.Error(), "there are ")
	if judged := slices.Sorted(slices.Values(strings.Split(list, ", "))); !slices.Equal(judged, planned) {
		t.Errorf("the judge: %v, want %v", err, planned)
	}
	if inScenarios := slices.Sorted(slices.Values(append(scenario.Routings(), plan.NoRouting))); !slices.Equal(inScenarios, planned) {
		t.Errorf("scenarios: %v, want %v", inScenarios, planned)
	}
	if last := scenario.Routings()[len(scenario.Routings())-1]; last != routing.Pinned {
		t.Errorf("the last routing of scenarios is %s; texts leave it out as pinned", last)
	}
}

// The judge reads a plan of each routing that it lists.
func TestJudgeReadsEveryRouting(t *testing.T) {
	for _, name := range plan.Routings() {
		_, err := verify.Read(strings.NewReader("# evbench plan 1\n# topology FT(2;2,2)\n# schedule x\n# routing " + name + "\n0 0 1 -\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
