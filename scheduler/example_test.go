package scheduler_test

import (
	"bytes"
	"fmt"
	"log"

	plans "evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/topology"
)

// A tree of two levels with a dead cable: how long is an all-to-all at least, who sends to whom
// through which spine, and does a judge that shares no code with the planner agree?
func Example() {
	o, err := topology.Parse("FT(2;2,3)") // 3 leaves of 2 servers, 2 spines
	if err != nil {
		log.Fatal(err)
	}
	whole, err := topology.New(o)
	if err != nil {
		log.Fatal(err)
	}
	tree, err := whole.Without(topology.Link{Leaf: 0, Spine: 1})
	if err != nil {
		log.Fatal(err)
	}

	s, bound, err := scheduler.FORS(tree, scheduler.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d servers, %d phases; at least %d, by %s\n", s.Ranks, s.Phases, bound.Phases, bound)
	for phase, step := range s.Row(0) { // what rank 0 sends
		switch {
		case step.To == scheduler.Idle:
			fmt.Printf("phase %d: nothing\n", phase)
		case step.ToSpine == scheduler.None:
			fmt.Printf("phase %d: to rank %d on the same leaf\n", phase, step.To)
		default:
			fmt.Printf("phase %d: to rank %d through spine %d\n", phase, step.To, step.ToSpine)
		}
	}

	// The same schedule with routes, as the file that evbench plan writes, before the judge.
	p, err := plans.Build(tree, plans.Options{Schedule: "fors", Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.WriteText(&file); err != nil {
		log.Fatal(err)
	}
	f, err := judge.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	r := judge.Check(f, judge.Options{Bound: true})
	fmt.Printf("%d messages, no cable twice in a phase: %t, optimal: %t\n", r.Messages, r.ContentionChecked, r.Optimal())

	// Output:
	// 6 servers, 8 phases; at least 8, by leaf0
	// phase 0: nothing
	// phase 1: to rank 1 on the same leaf
	// phase 2: to rank 3 through spine 0
	// phase 3: to rank 5 through spine 0
	// phase 4: nothing
	// phase 5: to rank 4 through spine 0
	// phase 6: to rank 2 through spine 0
	// phase 7: nothing
	// 30 messages, no cable twice in a phase: true, optimal: true
}
