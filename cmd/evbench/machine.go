package main

import (
	"fmt"
	"math"

	"evbench/bench"
	"evbench/fabric/hosts/host"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// describeMachine fills what the manifest says about program and machine.
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

// A machineError is wrong about this machine only.
type machineError struct{ text string }

func (e *machineError) Error() string { return e.text }

// checkMemory refuses a scenario whose event buffers do not fit into this
// machine, where so many of its servers run: every server holds whole events, one
// fragment of each server.
func checkMemory(s *scenario.Scenario, here int) error {
	available := host.Available()
	return fits("event buffers need", float64(bench.EventBytes(s, here)), available,
		"take smaller fragments, fewer credits or deliver: discard")
}

// perPair is what a schedule in the making takes for each ordered pair of servers,
// in bytes: measured, with its messages.
const perPair = 10

// checkPlans refuses to make schedules, so many at once, whose tables of pairs do
// not fit into this machine.
func checkPlans(servers, atOnce int) error {
	return fits(fmt.Sprintf("schedules of %d servers need", servers), float64(servers)*float64(servers)*float64(perPair*atOnce),
		host.Available(), "take a smaller network")
}

// room returns how many items of so many bytes fit into the memory that is free.
func room(each uint64) int {
	if free := host.Available(); free > 0 {
		return int(free / each)
	}
	return math.MaxInt
}

// fits refuses what takes more memory than is available; 0 is not known.
func fits(what string, need float64, available uint64, cure string) error {
	if available == 0 || need <= float64(available)*0.9 {
		return nil
	}
	return usage(&machineError{fmt.Sprintf("%s %s, this machine has %s free: %s", what,
		unit.Bytes(min(need, math.MaxInt64/2)), unit.Bytes(available), cure)})
}
