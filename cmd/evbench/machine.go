package main

import (
	"fmt"

	"evbench/bench"
	"evbench/fabric/host"
	"evbench/results"
	"evbench/scenario"
)

func describeMachine(m *results.Manifest) {
	b := versionInfo()
	m.Versions = map[string]string{"evbench": b.Version, "go": b.Go}
	for path, v := range b.Modules {
		m.Versions[path] = v
	}
	m.BuildTags = b.Tags
	f, _ := host.Read() // an error is about interfaces, which are not asked for here
	m.Host, m.Cores, m.CPU, m.Kernel = f.Host, f.Cores, f.CPU, f.Kernel
}

// checkMemory refuses a scenario whose event buffers do not fit into this
// machine, where so many of its servers run.
func checkMemory(s *scenario.Scenario, here int) error {
	return host.Fits("event buffers need", float64(bench.EventBytes(s, here)), "take smaller fragments, fewer credits or deliver: discard")
}

// perPair is what a schedule in the making takes for each ordered pair of servers,
// in bytes: measured, with its messages.
const perPair = 10

// checkPlans refuses to make schedules, so many at once, whose tables of pairs do
// not fit into this machine.
func checkPlans(servers, atOnce int) error {
	return host.Fits(fmt.Sprintf("schedules of %d servers need", servers), float64(servers)*float64(servers)*float64(perPair*atOnce), "take a smaller network")
}
