// Package survey plans many trees and answers what failures cost: how much slower an
// exchange becomes as links die (Slowdown), how many phases every schedule takes
// (Phases), how many addresses a plan needs (LMC), what every failure of k links or
// spines costs (WhatIf), and how fast the planner itself is (Planner).
//
// It plans with scheduler and routing, counts what the plans put on the links, and
// reduces that to a few numbers; it decides nothing about a plan. It opens no file and
// reads no clock: callers hand in the clock for measured times, and a function that
// keeps plans. Durations of exchanges are in message times: how long one message takes
// on one link. Equal input gives equal numbers for any number of CPUs; measured times
// and memory excepted.
package survey

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// Reduced returns t without its f highest spines: on leaf 0 only, or on all
// leaves. It is the "bandwidth reduction f" of thesis 5.2, at least one link
// lost by at least one leaf.
func Reduced(t *topology.Tree, f int, all bool) (*topology.Tree, error) {
	leaves := 1
	if all {
		leaves = t.Leaves()
	}
	var dead []topology.Link
	for l := range leaves {
		for k := t.Spines() - f; k < t.Spines(); k++ {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	return t.Without(dead...)
}

// plannable refuses trees that have no schedules, before one takes their memory.
func plannable(t *topology.Tree) error {
	if n := t.Servers(); n > scheduler.MaxServers {
		return fmt.Errorf("%s: %d servers: schedules of at most %d are planned", t.Notation(), n, scheduler.MaxServers)
	}
	return nil
}

// quantile returns the smallest value that at least the share q of the sorted
// values do not exceed (nearest rank).
func quantile[T cmp.Ordered](sorted []T, q float64) T {
	i := int(q*float64(len(sorted))+1-1e-9) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// median returns the middle value of unsorted ones, the lower of two.
func median[T cmp.Ordered](values []T) T { return quantile(slices.Sorted(slices.Values(values)), 0.5) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }
