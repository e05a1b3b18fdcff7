package bench_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"evbench/bench"
	"evbench/scenario"
)

// A run from end to end, on a fabric in memory: what the user asks for, the plan of each case, the
// run, and what was measured. The commands do the same with the fabrics of cmd/open.
func Example() {
	ctx := context.Background()
	s, err := scenario.Read("example.yaml", strings.NewReader(`
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
rounds: 1
duration: 150ms
interval: 50ms
cases:
  - {name: healthy, schedule: linear-shift}
  - {name: dead, schedule: fors, failures: [leaf0-spine0]}
`))
	if err != nil {
		log.Fatal(err)
	}
	planned, err := bench.Prepare(s) // a plan for each case, judged
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range planned {
		fmt.Printf("%s: %d phases, at least %d\n", c.Name, c.Plan.Phases(), c.Plan.Bound.Phases)
	}

	f, sink := &inProcess{}, &memory{} // a fabric.Fabric and a results.Sink
	sum, err := bench.Run(ctx,
		bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(sink)},
		bench.Options{Listener: f.listen(), Token: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range sum.Measured() {
		fmt.Printf("%s: events lost %d, built twice %d\n", c.Name, c.EventsLost, c.EventsDuplicate)
	}

	fmt.Println("complete:", sum.Complete)

	// Output:
	// healthy: 3 phases, at least 3
	// dead: 4 phases, at least 4
	// healthy: events lost 0, built twice 0
	// dead: events lost 0, built twice 0
	// complete: true
}
