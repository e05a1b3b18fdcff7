package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/model/capacity"
	"evbench/scenario"
	"evbench/site/host"
)

// version is the last release, or the linker's value (see Makefile).
var version = "0.1.0"

func versionAction(c *cli.Context) error {
	b := ours.Build()
	return printed(c, answer.Document{Text: b.WriteText, Schema: "evbench/version/1", Fields: b})
}

// checkMemory refuses a scenario whose event buffers do not fit into this machine, with here
// servers on it.
func checkMemory(s *scenario.Scenario, here int) error {
	return host.Fits("event buffers need", float64(capacity.EventBytes(s, here)), "take smaller fragments, fewer credits or deliver: discard")
}

// perPair is the memory, in bytes, of making a schedule for each ordered pair of servers: measured,
// with its messages.
const perPair = 10

// checkPlans refuses to make atOnce schedules at once whose tables of pairs do not fit into this
// machine.
func checkPlans(servers, atOnce int) error {
	return host.Fits(fmt.Sprintf("schedules of %d servers need", servers), float64(servers)*float64(servers)*float64(perPair*atOnce), "take a smaller network")
}
