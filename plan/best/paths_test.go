package best_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"evbench/plan"
	"evbench/plan/best"
	"evbench/scheduler/judge"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A plan whose messages have moved for slow hosts, also to other paths, counts the paths that it has then, as the judge does; one of the fewest paths keeps to them.
func TestPaths(t *testing.T) {
	moved := 0
	for seed := range uint64(expect.Samples(120, 30)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		tree, ok := topologytest.Random(t, rng, 1+rng.IntN(5), 2+rng.IntN(4))
		if !ok || tree.Connected() != nil || tree.Servers() < 4 {
			continue
		}
		r := topology.Rates{}
		for rank := range tree.Servers() {
			if rng.IntN(4) == 0 {
				r.Hosts = append(r.Hosts, topology.SlowHost{Rank: rank, Share: []float64{0.25, 0.5, 0.8}[rng.IntN(3)]})
			}
		}
		o := plan.Options{Schedule: schedules.FORS, Objective: []schedules.Objective{schedules.FewestPhases, schedules.FewestPaths}[seed%2]}
		p := expect.Value(best.Tree(tree, o, r))(t)
		var file bytes.Buffer
		expect.Must(t, p.WriteText(&file))
		found := judge.Check(expect.Value(judge.Read(&file))(t), judge.Options{})
		if found.Paths == nil {
			continue
		}
		has, is := p.Paths, *found.Paths
		expect.True(t, has.Most == is.Most && has.LMC == is.LMC && has.LIDs == is.LIDs && has.Entries == is.Entries, "seed %d: the plan has %+v, the judge counts %+v", seed, has, is)
		plain := expect.Value(plan.Build(tree, o))(t)
		if plain.Hash() != p.Hash() {
			moved++
		}
		expect.True(t, p.Objective == schedules.FewestPhases || has.Most <= plain.Paths.Most, "seed %d: the fewest paths are %+v, the plan has %+v", seed, plain.Paths, has)
	}
	expect.True(t, moved > 0, "no plan has other phases")
}
